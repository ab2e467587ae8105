"""The survey finds what is known about public libraries, where they are installed."""

from importlib.metadata import version
from pathlib import Path

import pytest

from olbench.conformance import survey
from olbench.conformance.survey import LEARNERS, run_survey

PAGE = Path(__file__).parents[2] / "docs/conformance.md"


def examine(monkeypatch, package):
    monkeypatch.setattr(survey, "LEARNERS", [each for each in LEARNERS if each.package == package])
    return {row.learner.title: row.verdict for row in run_survey(lambda text: None)}


def test_the_page_has_every_learner_that_is_surveyed():
    page = PAGE.read_text(encoding="utf-8")
    for each in LEARNERS:
        assert f"| `{each.title}` | {each.algorithm} |" in page, each.title


def test_eight_learners_of_olpy_conform_and_the_causes_of_the_others_are_named(monkeypatch):
    pytest.importorskip("olpy", reason="olpy is not installed; `make survey` installs it")
    if version("olpy") != "1.0.0.dev3":
        pytest.skip("this is another version of olpy than the one that was measured")
    found = examine(monkeypatch, "olpy")
    conforming = {"Perceptron", "PA", "PA_I", "PA_II", "aROMMA", "AROW", "NAROW", "NHerd"}
    assert {name for name, verdict in found.items() if verdict.conforms} == conforming
    assert len(found) == 17
    causes = {name: set(verdict.deviations) for name, verdict in found.items() if not verdict.conforms}
    diagonal = "variance-from-diagonal"
    assert causes["CW"] == causes["SCW"] == {diagonal}
    assert causes["SCW2"] == {diagonal, "scw2-libol"}
    assert causes["ECCW"] == {diagonal, "phi-psi-mistyped"}


def test_rivers_passive_aggressive_learner_conforms_without_its_bias(monkeypatch):
    pytest.importorskip("river", reason="River is not installed")
    found = examine(monkeypatch, "river")
    assert found["PAClassifier(mode=1, learn_intercept=False)"].conforms
    assert found["PAClassifier(mode=1)"].deviations == ("bias-beside",)


def test_the_package_scw_has_three_defects(monkeypatch):
    pytest.importorskip("scw", reason="scw is not installed; `make survey` installs it")
    found = examine(monkeypatch, "scw")
    defects = {"cdf-for-quantile", "hinge-trigger", "decided-again"}
    assert [set(verdict.deviations) for verdict in found.values()] == [defects, defects]
