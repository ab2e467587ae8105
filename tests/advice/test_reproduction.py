"""docs/REPRODUCTION-advice.md and the README say what the records that ship say."""

from pathlib import Path

import pytest

from olbench import load_results
from olbench.papers import load_paper
from olbench.report import markdown
from olbench.report.build import make_report
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
    text = "\n".join(f"| {claim.text} | {claim.verdict} |" for claim in report.claims)
    assert len(report.claims) == len(load_paper("adviceptron2010").claims), text


def test_all_tasks_and_splits_are_there():
    frame = load_results(REFERENCE).to_frame()
    counts = frame.groupby(["dataset", "label"]).size().unstack()
    assert set(counts.columns) == set(TITLES)
    for task, own in counts.iterrows():
        assert (own == (200 if task.startswith("tb-") else 20)).all(), task


def test_the_shipped_trials_still_count(here, tmp_path):
    """A run into a copy of the reference results computes nothing: every trial is reused."""
    import re
    import shutil

    shutil.copytree(REFERENCE, tmp_path / "copy")
    words = ("--set", "datasets=[advice-synthetic]", "--out", tmp_path / "copy")
    code, out, err = here("run", ROOT / "configs/advice.yaml", *words)
    assert code == 0, err
    assert re.search(r"\n0 trials run, 320 reused", out), out[-300:]
