"""docs/REPRODUCTION-advice.md and the README say what the records that ship say."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from olbench import load_results
from olbench.report.model import make_report
from olbench.report.renderers import md as markdown
from olbench.report.sections import claims

ROOT = Path(__file__).resolve().parents[2]
REFERENCE, FLIPPED = ROOT / "results/advice/reference", ROOT / "results/advice/flipped"
PAGE = (ROOT / "docs/REPRODUCTION-advice.md").read_text(encoding="utf-8")
TITLES = {
    "adviceptron": "adviceptron",
    "adviceptron-printed": "adviceptron, eq. (13) to the letter",
    "adviceptron-exact": "exact",
    "exact-from-advice": "exact, from the advice",
    "adviceptron-positive": "adviceptron, positive rules only",
    "from-positive-advice": "exact, from the advice, positive rules only",
    "pa2": "PA-II",
    "pa": "PA",
    "margin-perceptron": "margin perceptron",
    "perceptron": "perceptron",
    "romma": "ROMMA",
    "kbsvm": "KBSVM",
    "rules-alone": "rules alone, mu = 1",
    "rules-alone-strict": "rules alone, mu = 1000",
    "majority": "majority",
    "always-no": "always no",
}
TB = ("east-asian", "east-african-indian", "euro-american", "indo-oceanic", "africanum", "bovis")


def percent(value):
    return f"{100 * value:.2f}"


@pytest.fixture(scope="module")
def report():
    return make_report(REFERENCE)


@pytest.fixture(scope="module")
def means():
    frame = load_results(REFERENCE).to_frame()
    return frame.groupby(["label", "dataset"]).mean(numeric_only=True)


@pytest.fixture(scope="module")
def flipped():
    return load_results(FLIPPED).to_frame().groupby("label").mean(numeric_only=True)


def row(*cells):
    return f"| {' | '.join(cells)} |"


def small_tasks(means, flipped):
    """Yield the rows of the table of synthetic and diabetes."""
    cells = [
        ("advice-synthetic", "early_accuracy"), ("advice-synthetic", "accuracy"), ("pima", "early_accuracy"),
        ("pima", "accuracy"), ("pima", "early_balanced_accuracy"), ("pima", "balanced_accuracy"),
    ]  # fmt: skip
    for label, title in TITLES.items():
        yield row(title, *(percent(means.loc[(label, task), name]) for task, name in cells))
    for label in ("adviceptron", "adviceptron-exact"):
        own = [percent(flipped.loc[label, name]) for _, name in cells[2:]]
        yield row(f"{TITLES[label]}, rules exchanged", "", "", *own)


def tuberculosis(means, accuracy, balanced):
    """Yield the rows of a table of tuberculosis: accuracy and balanced accuracy."""
    for label, title in TITLES.items():
        own = [means.loc[(label, f"tb-{task}")] for task in TB]
        yield row(title, *(f"{100 * each[accuracy]:.1f} / {100 * each[balanced]:.1f}" for each in own))


def test_the_tables_are_those_of_the_records(means, flipped):
    assert "\n".join(small_tasks(means, flipped)) in PAGE
    assert "\n".join(tuberculosis(means, "accuracy", "balanced_accuracy")) in PAGE
    assert "\n".join(tuberculosis(means, "early_accuracy", "early_balanced_accuracy")) in PAGE


def test_the_claims_are_those_of_the_records(report):
    assert markdown.render(claims.parts(report)).strip() in PAGE
    verdicts = Counter(claim.verdict for claim in report.claims)
    summary = f"of {len(report.claims)} checks, {verdicts['holds']} holds and {verdicts['fails']} fail"
    assert summary in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_the_text_says_what_the_tables_say(means, flipped):
    text = " ".join(PAGE.split())
    accuracy, early = 100 * means["accuracy"].unstack(), 100 * means["early_accuracy"].unstack()
    for task, name in (("pima", "Diabetes"), ("advice-synthetic", "Synthetic")):
        gains = [each.loc["adviceptron", task] - each.loc["pa2", task] for each in (early, accuracy)]
        assert gains[1] < 0
        assert (
            f"{name}: advice gains {gains[0]:.1f} points after 10 examples and nothing after 200 "
            f"(−{-gains[1]:.1f})" in text
        )
    cost = 100 * (flipped.loc["pa2", "accuracy"] - flipped.loc["adviceptron", "accuracy"])
    assert f"exchanged rules cost {cost:.1f} points against PA-II" in text
    untuned = 100 - 100 * means.loc["adviceptron", "tuned"]
    titles = {
        "africanum": "*M. africanum*",
        "bovis": "*M. bovis*",
        "east-african-indian": "East-African-Indian",
    }
    for task, name in (titles | {"indo-oceanic": "Indo-Oceanic"}).items():
        assert re.search(rf"{untuned[f'tb-{task}']:.1f}% of (the splits of )?{re.escape(name)}", text)
    balanced = 100 * means["balanced_accuracy"].unstack()
    good = [f"tb-{task}" for task in ("east-asian", "euro-american", "indo-oceanic", "bovis")]
    assert (balanced.loc["rules-alone-strict", good] > 98.45).all()
    assert ((balanced.loc["rules-alone-strict"] - balanced.loc["exact-from-advice"])[good].abs() < 0.4).all()
    assert (balanced.loc["adviceptron-positive"] > balanced.loc["adviceptron"]).filter(like="tb-").sum() == 5


def test_all_tasks_and_splits_are_there():
    frame = load_results(REFERENCE).to_frame()
    counts = frame.groupby(["dataset", "label"]).size().unstack()
    assert set(counts.columns) == set(TITLES)
    for task, own in counts.iterrows():
        assert (own == (200 if task.startswith("tb-") else 20)).all(), task


def test_the_shipped_trials_still_count(here, tmp_path):
    """A run into a copy of the reference results computes nothing: every trial is reused."""
    shutil.copytree(REFERENCE, tmp_path / "copy")
    words = ("--set", "datasets=[advice-synthetic]", "--out", tmp_path / "copy")
    code, out, err = here("run", ROOT / "configs/advice.yaml", *words)
    assert code == 0, err
    assert re.search(r"\n0 trials run, 320 reused", out), out[-300:]
