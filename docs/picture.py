"""Draw docs/quick.png from the record of `make quick`: python docs/picture.py results/quick."""

import json
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

SHOWN = {"perceptron": "Perceptron", "pa1": "PA-I", "cw": "CW", "arow": "AROW", "scw1": "SCW-I"}
COLOURS = ("#0072b2", "#e69f00", "#cc79a7", "#009e73", "#d55e00")

curves = defaultdict(list)
for line in Path(sys.argv[1], "trials.jsonl").read_text().splitlines():
    trial = json.loads(line)
    if (trial["role"], trial["dataset"]) == ("report", "synthetic-noise") and trial["algorithm"] in SHOWN:
        curves[trial["algorithm"]].append(trial["curve"])

figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for colour, (id, label) in zip(COLOURS, SHOWN.items(), strict=True):
    t = np.array(curves[id][0]["t"])
    rates = np.array([curve["mistakes"] for curve in curves[id]]) / t
    updates = np.array([curve["updates"] for curve in curves[id]])
    for panel, values in zip(panels, (rates, updates), strict=True):
        panel.plot(t, values.mean(axis=0), color=colour, label=label)
        low, high = values.mean(axis=0) - values.std(axis=0), values.mean(axis=0) + values.std(axis=0)
        panel.fill_between(t, low, high, color=colour, alpha=0.2, linewidth=0)
for panel, title in zip(panels, ("online mistake rate", "updates"), strict=True):
    panel.set(title=title, xlabel="examples")
    panel.spines[["top", "right"]].set_visible(False)
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
figure.savefig(Path(__file__).with_name("quick.png"), dpi=110)
