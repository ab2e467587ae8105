"""What docs/papers/adviceptron2010.md shows is what happens, and an installed package has the rule files."""

import contextlib
import io
import re
import shutil
import textwrap
from pathlib import Path

import numpy as np

from tests import ROOT

PAGE = (ROOT / "docs/papers/adviceptron2010.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says():
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert "".join(f"    {line}\n" for line in printed.getvalue().splitlines()) in PAGE


def test_the_command_prints_what_the_page_says(here, mirror):
    shown = here.out("algorithms", "adviceptron", "--rules", "pima", "--data", "pima")
    page = " ".join(PAGE.split())
    for line in shown.splitlines():
        assert " ".join(line.split()) in page


def test_three_rules_for_a_file_of_ones_own_give_a_figure_and_a_report(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = PAGE.partition("## Experiments with rules")[2]
    config, commands, *_ = re.findall(r"\n\n((?:    .*\n)+)\n", section)
    assert config.count("=>") == 3
    Path("my.yaml").write_text(textwrap.dedent(config))
    rng = np.random.default_rng(5)
    bmi, glucose = rng.normal(30, 6, size=300), rng.normal(120, 30, size=300)
    ill = (glucose - 120) / 30 + (bmi - 30) / 6 + rng.normal(size=300) >= 0.5
    rows = zip(bmi.round(1), glucose.round(), ill.astype(int), strict=True)
    Path("my.csv").write_text("bmi,glucose,diabetes\n" + "".join(f"{a},{b:.0f},{c}\n" for a, b, c in rows))
    for command in commands.split("\n")[:-1]:
        words = command.split()[1:]
        here.out(*words, *(["--set", "splits=3", "--jobs", "1"] if words[0] == "run" else []))
    page = Path("report.html").read_text(encoding="utf-8")
    assert "glucose + 2*bmi &gt;= 220 =&gt; diabetes" in page
    # Figure 1 of the paper, for one's own rules
    assert "my: examples, rules (shaded) and planes after the first training set." in page
    assert "in the paper" not in page
    assert page.count('src="data:image/svg+xml;base64,') >= 1
    assert {path.stem for path in Path("figures").glob("*.pdf")} >= {"curves-my", "rules-my"}


def test_the_shipped_trials_still_count(here, tmp_path):
    """A run into a copy of the reference results computes nothing: every trial is reused."""
    shutil.copytree(ROOT / "results/advice/reference", tmp_path / "copy")
    words = ("--set", "datasets=[advice-synthetic]", "--out", tmp_path / "copy")
    assert "\n0 trials run, 320 reused" in here.out("run", ROOT / "configs/advice.yaml", *words)
