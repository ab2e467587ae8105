"""Sentences that conclude, on data where the truth is known."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats as reference

import olbench
from olbench.analysis.difference import TrialContest
from olbench.errors import UserError
from olbench.report.doubts import list_doubts
from olbench.report.model import Report, make_report
from olbench.report.tables.summary import in_words, winner_sentence
from olbench.report.tables.verdicts import overview
from tests.report import made
from tests.report.pages import render


def report_of(rates, measures=(), majority=0, **changes):
    """Return a report on a data set, from the rates of each algorithm by permutation."""
    entries = [made.entry("splice", id, own, **changes) for id, own in rates.items()]
    found = made.results(entries)
    config = found.run.config | ({"measures": list(measures)} if measures else {})
    data = {name: replace(each, majority=majority) for name, each in found.run.data.items()}
    return Report(replace(found, run=replace(found.run, config=config, data=data)), None)


def count(report, **columns):
    """Return the report with further columns, computed from those of each algorithm."""
    # Measures of counts are NaN in a record that has the counts.
    measures = {name: lambda each: np.full(20, np.nan) for name in ("balanced_accuracy", "accuracy")}
    entries = (
        replace(each, columns={**each.columns, **{name: make(each) for name, make in own.items()}})
        for own in [measures | columns]
        for each in report.results.entries
    )
    return Report(replace(report.results, entries=tuple(entries)), None)


def draw(seed, *means, deviation=0.01, n=20):
    random = np.random.default_rng(seed)
    return [mean + deviation * random.standard_normal(n) for mean in means]


def test_a_summary_has_at_most_three_sentences_and_sizes_in_points():
    one, other, worse = draw(1, 0.2, 0.2, 0.26)
    report = report_of({"arow": one, "scw1": other, "pa1": worse})
    text = winner_sentence(report)
    assert text.count(". ") == 2
    apart = worse - min(one, other, key=np.mean)
    assert f"pa1 is {100 * apart.mean():.1f} points worse ({interval(report, 'pa1', apart)})." in text
    assert "are not separable by mistake rate on splice: " in text
    assert text.endswith(
        "In brackets: 95% intervals over orders of these rows, with Holm's correction for 3 pairs."
    )


def interval(report, label, apart):
    """Return SciPy's interval in points, with the correction of p."""
    [found] = report.results.within.values()
    [own] = [each for each in found.differences if each.label == label]
    p = reference.ttest_1samp(apart, 0)
    low, high = p.confidence_interval(1 - 0.05 * p.pvalue / own.adjusted)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def test_a_difference_within_what_is_negligible_is_practically_equal():
    base = draw(2, 0.2)[0]
    # 0.0001 is far below 1% of the error, and as sure as can be.
    close = base + 0.0001 + 1e-6 * np.resize([1, -1], 20)
    text = winner_sentence(report_of({"arow": base, "scw1": close}))
    assert text.startswith("arow and scw1 are practically equal by mistake rate on splice: ")
    assert "a difference of at most 0.02 points" in text
    assert "worse" not in text
    same = winner_sentence(report_of({"arow": base, "scw1": base}))
    assert "the same in every trial" in same


def test_several_that_are_not_separable_are_listed_the_closest_first():
    """Each interval is that of SciPy, in points, and only the first has the unit."""
    rates = dict(
        zip(("arow", "scw1", "cw", "pa1"), draw(5, 0.2, 0.203, 0.206, 0.3, deviation=0.02), strict=True)
    )
    report = report_of(rates)
    text = winner_sentence(report)
    best, *others = sorted(("arow", "scw1", "cw"), key=lambda label: rates[label].mean())
    shown = []
    for other in others:
        apart, unit = rates[other] - rates[best], "" if shown else " points"
        shown.append(f"{other} {100 * apart.mean():.1f}{unit} ({interval(report, other, apart)})")
    assert f"; not separable: {', '.join(shown)}. pa1 is " in text


def test_one_permutation_is_no_test():
    text = winner_sentence(report_of({"arow": [0.2], "pa1": [0.3]}))
    assert text == "arow has the lowest mistake rate on splice, 20.0%; one trial is too few for a test."


def test_a_report_against_an_algorithm_takes_every_difference_from_it():
    one, other, worst = draw(3, 0.2, 0.24, 0.3)
    report = report_of({"arow": one, "scw1": other, "pa1": worst})
    mine = replace(report, results=report.results.against("SCW-I"))
    within = json.loads(render(mine, "json"))["within"]["splice"]
    assert (within["best"], within["against"]) == ("arow", "scw1")
    for each, own in zip(within["differences"], (one, worst), strict=True):
        assert each["p"] == pytest.approx(reference.ttest_rel(own, other).pvalue)
        assert each["against"] == "scw1"
    text = winner_sentence(mine)
    assert "is 24." in text or "is 23." in text
    assert "pa1 is " in text
    assert "points worse" in text
    assert "arow is " in text
    assert "points better" in text
    assert text.endswith("Holm's correction for 2 comparisons.")
    assert "from SCW-I were tested" in in_words(mine)
    # A selection without the algorithm is compared with its best again.
    assert mine.results.select(["arow", "pa1"]).within["splice"].against == "arow"


def test_an_unknown_or_ambiguous_name_is_refused(here):
    results = report_of({"arow": [0.2, 0.21], "scw1": [0.3, 0.31]}).results
    with pytest.raises(UserError, match=r"the run has no algorithm 'arrow' \(did you mean 'AROW'|'arow'"):
        results.against("arrow")
    twice = [made.entry("splice", "arow", [0.2, 0.3], label=label) for label in ("arow a", "arow b")]
    with pytest.raises(UserError, match="name one of them"):
        made.results(twice).against("AROW")
    code, _, err = here("report", "scw", "--against", "arrow")
    assert (code, err.count("\n")) == (2, 1)


def test_across_data_sets_the_named_algorithm_replaces_the_best():
    results = olbench.load_results("scw").against("pa1")
    report = Report(results, None)
    assert report.against.label == "pa1"
    assert not report.against.selected
    assert winner_sentence(report).startswith("pa1 has a mean rank of ")
    assert "significantly better (Wilcoxon, 5%, Holm over 13 comparisons)." in winner_sentence(report)
    few = Report(results.select([], ["splice", "usps"]), None)
    assert "Against pa1, better: " in winner_sentence(few)


def test_noise_is_seldom_taken_for_learning():
    """The best of four guessers is rarely better than the majority, and a learner always is."""
    taken = 0
    for seed in range(300):
        noise = report_of(
            dict(zip(("arow", "pa1", "scw1", "cw"), draw(seed, *[0.3] * 4), strict=True)), majority=70_000
        )
        taken += not noise.unlearnt
    assert taken <= 0.08 * 300
    learnt = report_of({"arow": draw(1, 0.28)[0], "pa1": draw(2, 0.31)[0]}, majority=70_000)
    assert learnt.unlearnt == {}
    assert learnt.describe_guesses() == (
        "No better than always predicting the more frequent class (mistake rate in brackets): pa1 on splice "
        "(0.3000)."
    )


def test_a_winner_that_does_not_beat_a_guess_is_named_once():
    report = report_of({"arow": draw(1, 0.32)[0], "pa1": draw(2, 0.35)[0]}, majority=70_000)
    [doubt] = list_doubts(report)
    assert doubt == (
        "Nothing learnt on splice: no algorithm is better than always predicting the more frequent class."
    )
    text = " ".join(render(report, "text").split())
    assert text.count("more frequent class") == 1
    assert json.loads(render(report, "json"))["doubts"] == [doubt]
    single = report_of({"arow": [0.25], "pa1": [0.28]}, majority=70_000)
    assert list_doubts(single) == []


def test_balanced_accuracy_is_compared_with_chance():
    rates = draw(1, 0.5, 0.5)
    entries = {"arow": rates[0], "pa1": rates[1]}
    report = report_of(entries, ["balanced_accuracy"], majority=60_000)
    report = count(report, false_alarms=lambda each: each.columns["mistakes"] / 2)
    assert report.headline.name == "balanced_accuracy"
    [doubt] = list_doubts(report)
    assert doubt.endswith("than chance.")


def test_a_constant_is_tested_like_a_paired_difference():
    values = np.array(draw(4, 0.3, 0.33))
    contest = TrialContest(("a", "b"), values.mean(axis=1), "lower", None, values)
    for guess in np.linspace(0.29, 0.32, 31):
        p = min(1.0, 2 * reference.ttest_1samp(values[0], guess).pvalue)
        assert contest.exceeds(guess) == (values[0].mean() < guess and p <= 0.05)


def test_measures_that_disagree_name_what_is_significantly_better():
    """All mistakes of one are on positives; the other makes a few more, but on both classes."""
    rates = {"arow": draw(1, 0.10, deviation=0.001)[0], "pa1": draw(2, 0.11, deviation=0.001)[0]}
    report = report_of(rates, ["mistake_rate", "balanced_accuracy"])
    share = {"arow": 0.0, "pa1": 0.9}
    report = count(
        report,
        positives=lambda each: np.full(20, made.N // 5),
        false_alarms=lambda each: share[each.label] * each.columns["mistakes"],
    )
    assert list_doubts(report) == [
        "Measures disagree: by balanced accuracy (%), pa1 is significantly better than arow."
    ]
    agreed = count(report_of(rates, ["mistake_rate", "accuracy"]))
    assert list_doubts(agreed) == []


def test_a_feature_that_gives_the_label_away_is_suspected():
    leak = report_of({"arow": [0.0005] * 6, "pa1": [0.002] * 6})
    assert list_doubts(leak) == ["Hardly any mistake on splice: check that no feature gives the label away."]
    assert list_doubts(report_of({"arow": [0.01] * 6, "pa1": [0.02] * 6})) == []


def test_a_stream_that_repeats_its_labels_is_not_learnt(tmp_path):
    """Labels come in runs of fifty, and the features are noise."""
    random = np.random.default_rng(0)
    labels = np.where(np.arange(2000) // 50 % 2, 1, -1)
    for name, signal in (("noise", 0.0), ("signal", 4.0)):
        rows = random.standard_normal((2000, 3)) + signal * labels[:, None]
        lines = (",".join(map(str, (*row, label))) for row, label in zip(rows, labels, strict=True))
        (tmp_path / f"{name}.csv").write_text("a,b,c,label\n" + "\n".join(lines) + "\n")
        config = {
            "protocol": "stream", "datasets": [str(tmp_path / f"{name}.csv")], "algorithms": ["arow", "pa1"]
        }  # fmt: skip
        olbench.run(config, tmp_path / name, jobs=1, quiet=True)
    said = "no algorithm makes fewer mistakes than no-change, which repeats the last label."
    assert any(said in each for each in list_doubts(make_report(tmp_path / "noise")))
    assert not any(said in each for each in list_doubts(make_report(tmp_path / "signal")))


def test_bold_of_the_paper_is_by_its_own_test():
    """With many algorithms, the uncorrected test leaves fewer in bold than the correction for all pairs."""
    results = olbench.load_results("scw")
    report = make_report(results.folder)
    table = overview(report)
    differs = False
    for y, dataset in enumerate(table["data set"]):
        columns = {each.label: each.columns for each in results.contestants(dataset)}
        rates = {label: own["mistakes"] / own["n"] for label, own in columns.items()}
        best = min(rates, key=lambda label: rates[label].mean())
        for x, column in enumerate(table.columns[1:], 1):
            if table.rows[y][x] is None or (own := rates.get(table.rows[y][x].label)) is None:
                continue
            # A paired t-test of SciPy; the best itself has no difference.
            p = 1.0 if np.array_equal(own, rates[best]) else reference.ttest_rel(own, rates[best]).pvalue
            assert ((y, x) in table.best) == (p > 0.05), (dataset, column.heading)
            differs |= (p > 0.05) != (table.rows[y][x].label in results.best[dataset])
    assert differs
    assert "by the paper's own test" in table.note


def test_the_matrix_of_pairs_has_every_pair_both_ways():
    results = olbench.load_results("scw").select(["arow", "scw1", "pa1"])
    [panel] = olbench.plot.pairwise(results).axes
    cells = {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in panel.texts}
    names = [each.get_text() for each in panel.get_xticklabels()]
    assert names == ["SCW-I", "AROW", "PA-I"] == [each.get_text() for each in panel.get_yticklabels()]
    assert set(cells) == {(y, x) for y in range(3) for x in range(3) if y != x}
    headline = results.protocol.quantities[0]
    means = np.array([[each.mean(headline) for each in results.of(name)] for name in results.datasets])
    order = [[each.label for each in results.of("splice")].index(label) for label in ("scw1", "arow", "pa1")]
    for (y, x), cell in cells.items():
        apart = means[:, order[y]] - means[:, order[x]]
        p = reference.wilcoxon(apart, method="exact").pvalue
        signs = "/".join(str(int((np.sign(apart) == each).sum())) for each in (-1, 0, 1))
        assert cell.get_text() == f"{apart.mean():+.4f}\n{signs}\n{p:.2g}"
        assert (cell.get_fontweight() == "bold") == (p < 0.05)
    mine = olbench.plot.pairwise(results.against("arow"), ax=Figure().add_subplot())
    assert [each.get_text() for each in mine.get_yticklabels()] == ["AROW"]
    assert len(mine.texts) == 2
    with pytest.raises(UserError, match="at least 3 data sets"):
        olbench.plot.pairwise(results.select([], ["splice"]))


def test_a_constant_is_tested_with_the_errors_of_rows():
    """One permutation of a measure whose rows are known: t of the groups, against a constant."""
    random = np.random.default_rng(6)
    values, sums = np.array([[0.30], [0.33]]), random.standard_normal((2, 100))
    sums -= sums.mean(axis=1, keepdims=True)
    contest = TrialContest(("a", "b"), values[:, 0], "lower", None, values, influence=sums, rows=1000)
    error = np.sqrt(100 / 99 * np.square(sums[0]).sum()) / 1000
    for t in (1.5, 2.1, 2.4, 3.0):
        p = 2 * 2 * reference.t.sf(t, 99)
        assert contest.exceeds(0.30 + t * error) == (p <= 0.05)
