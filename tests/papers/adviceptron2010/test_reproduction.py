"""What docs/papers/adviceptron2010.md says of the records that ship; its tables are made from them."""

import re
import shutil

import pytest

from olbench import load_results
from tests import ROOT

REFERENCE = ROOT / "results/advice/reference"


@pytest.fixture(scope="module")
def frame():
    return load_results(REFERENCE).to_frame()


def test_the_text_says_what_the_tables_say(frame):
    balanced = 100 * frame.groupby(["label", "dataset"])["balanced_accuracy"].mean().unstack()
    good = [f"tb-{task}" for task in ("east-asian", "euro-american", "indo-oceanic", "bovis")]
    assert (balanced.loc["rules-alone-strict", good] > 98.45).all()
    assert ((balanced.loc["rules-alone-strict"] - balanced.loc["exact-from-advice"])[good].abs() < 0.4).all()
    assert (balanced.loc["adviceptron-positive"] > balanced.loc["adviceptron"]).filter(like="tb-").sum() == 5


def test_the_shipped_trials_still_count(here, tmp_path):
    """A run into a copy of the reference results computes nothing: every trial is reused."""
    shutil.copytree(REFERENCE, tmp_path / "copy")
    words = ("--set", "datasets=[advice-synthetic]", "--out", tmp_path / "copy")
    out = here.out("run", ROOT / "configs/advice.yaml", *words)
    assert re.search(r"\n0 trials run, 320 reused", out), out[-300:]
