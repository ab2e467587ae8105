"""The survey finds what is known about public libraries, where they are installed."""

import pytest

from benchmarks.survey import LEARNERS, PAGE, SurveyedLearner, examine, render_survey


def test_the_page_has_every_learner_that_is_surveyed():
    page = PAGE.read_text(encoding="utf-8")
    for each in LEARNERS:
        assert f"| `{each.title}` | {each.algorithm} |" in page, each.title


def test_a_finding_is_explained_and_what_cannot_be_examined_has_its_reason():
    chosen = [
        *(each for each in LEARNERS if each.title == "Perceptron(fit_intercept=False)"),
        SurveyedLearner("no-such-library", "no.such", "Learner", "pa"),
        SurveyedLearner("scikit-learn", "sklearn.linear_model", "NoSuchLearner", "pa"),
    ]
    rows = list(examine(chosen))
    assert rows[0].verdict.deviations == ("zero-is-mistake",)
    assert rows[1].reason == "not installed"
    assert "NoSuchLearner" in rows[2].reason
    page = render_survey(rows)
    assert "| `Perceptron(fit_intercept=False)` | perceptron | other convention |" in page
    assert "| `NoSuchLearner` | pa | not examined |" in page


def test_rivers_passive_aggressive_learner_conforms_without_its_bias():
    pytest.importorskip("river", reason="River is not installed")
    rows = examine(each for each in LEARNERS if each.package == "river")
    found = {row.learner.title: row.verdict for row in rows}
    assert found["PAClassifier(mode=1, learn_intercept=False)"].conforms
    assert found["PAClassifier(mode=1)"].deviations == ("bias-beside",)
