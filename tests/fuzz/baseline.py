"""Baselines of `olbench check`: a file is compared, or refused as no baseline."""

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from olbench.engine.regression import compare
from olbench.errors import UserError
from olbench.protocols import get_protocol
from olbench.report import regression
from olbench.trials import baseline
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes, change_lines, change_tree

ROWS: list[dict[str, Any]] = [
    {"dataset": dataset, "algorithm": algorithm, "params": {"r": 1.0}, "grid": {"r": [0.5, 1.0]},
     "options": {"covariance": "full"}, "fingerprint": "09b79ee7" * 2, "n": 100,
     "mistakes": [10, 12, 11], "updates": [20, 22, 25]}
    for dataset in ("breast-cancer", "synthetic") for algorithm in ("arow", "scw1")
]  # fmt: skip
HEAD = {
    "version": 2,
    "protocol": "online",
    "seed": 3,
    "versions": {"numpy": "2.0"},
}


class BaselineFuzzer:
    """A baseline with a value, a line or a byte changed, compared with the one that was not."""

    name = "baseline"

    def __init__(self) -> None:
        self.text = json.dumps({**HEAD, "rows": ROWS}, indent=1).encode()

    def make(self, random: random.Random) -> bytes:
        """Return a file."""
        match random.randrange(8):
            case 0:
                return change_bytes(random, self.text)
            case 1:
                return change_lines(random, self.text)
            case 2 if random.random() < 0.05:
                return b'{"rows": ' + b"[" * 100_000
        tree: Any = {**HEAD, "rows": ROWS}
        for _ in range(random.choice((1, 1, 2, 3))):
            tree = change_tree(random, tree)
        return json.dumps(tree).encode()

    def check(self, content: bytes, folder: Path) -> str:
        """Compare; a count that differs must be found, and every format must say so."""
        path = folder / "baseline.json"
        path.write_bytes(content)
        now = baseline.Baseline(tuple(ROWS), "online", 3, {"numpy": "2.0"})
        try:
            before = baseline.read(path)
        except UserError as error:
            expect_sentence(error)
            return "refused"
        protocol = get_protocol("online")
        comparison = compare(before, now, 0.0, protocol)
        for form in (regression.render_text, regression.render_json):
            form(comparison, []).encode()
        json.loads(regression.render_json(comparison, []))
        ElementTree.fromstring(regression.render_junit(comparison, [], []))
        regression.render_github(comparison, [], lambda finding: ("ci.yaml", 1)).encode()
        old = {(row["dataset"], row["algorithm"]): row for row in before.rows}
        new = {(row["dataset"], row["algorithm"]): row for row in ROWS}
        same = all(
            old[place].get(name, new[place][name]) == new[place][name]
            for place in old.keys() & new.keys()
            for name in ("mistakes", "updates")
        )
        if not comparison.changes and not (same and old.keys() <= new.keys()):
            raise Difference("the check passes, but the counts of the baseline are others")
        return "accepted"
