"""Writes the numbers of the documentation from the runs that ship: `make docs-numbers`.

A page has places such as `<!-- numbers: scw-headline -->` ... `<!-- end -->`; MAKERS has a function for each
name that gives the Markdown between them. Numbers in running text stay as they are written: CHECKED has, for
each page, the phrases that it must contain. A test fails where a page differs from the runs.
"""

import math
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from site_pages import table

from olbench.analysis import verdicts
from olbench.analysis.claims import OUTCOMES
from olbench.analysis.stats import LEVEL, paired_t
from olbench.papers.audit import checks
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import MISTAKE_RATE
from olbench.report import words
from olbench.report.formats import write_markdown
from olbench.report.model import Report, make_report
from olbench.report.summary import Reproduction, reproductions, summary_document
from olbench.report.table import Part, Table
from olbench.report.tables import REGISTRY, all_items

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "results"
MARK = re.compile(r"(<!-- numbers: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
WIDTH = 120


# --- the runs, each read once ---


@cache
def papers() -> dict[str, Reproduction]:
    """Return what the runs that ship say about each paper: `olbench summary`."""
    return {each.paper.id: each for each in reproductions(sorted(RUNS.glob("*/reference")))}


@cache
def report(run: str) -> Report:
    """Return the report of a run that ships: `olbench report RUN`."""
    known = {each.results.folder: each for paper in papers().values() for each in paper.reports}
    folder = RUNS / run
    return known.get(folder) or make_report(folder)


@cache
def frame(run: str) -> Any:
    """Return the trials of a run that ships."""
    return report(run).results.to_frame()


@cache
def means(run: str, quantity: str) -> Any:
    """Return the means of a quantity: a row per data set, a column per label."""
    return frame(run).groupby(["dataset", "label"])[quantity].mean().unstack()


# --- text ---


def wrap(text: str, indent: str = "") -> str:
    """Return a paragraph, or an item of a list, in lines of the pages' width."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def bullets(lines: Iterator[str] | list[str]) -> str:
    """Return a list."""
    return "\n".join(wrap(f"- {line}.", "  ") for line in lines)


def rate(value: float, digits: int = 3) -> str:
    """Return a rate as the pages write it: .029."""
    return f"{value:.{digits}f}".removeprefix("0")


def list_claims(counts: Counter[str]) -> str:
    """Return how many claims have each outcome: 1 holds, 3 hold partly, 2 are reversed."""
    words = []
    for outcome in (each for each in OUTCOMES if counts[each]):
        if outcome.startswith("holds"):
            verb = outcome if counts[outcome] == 1 else outcome.replace("holds", "hold")
        else:
            verb = f"{'is' if counts[outcome] == 1 else 'are'} {outcome}"
        words.append(f"{counts[outcome]} {verb}")
    return ", ".join(words)


def render(*parts: Part) -> str:
    """Return parts of a report as Markdown."""
    return write_markdown(parts).strip()


def tables(run: str, *ids: str) -> list[Part]:
    """Return tables of the report of a run."""
    all_items()
    return [part for id in ids for part in REGISTRY[id].parts(report(run))]


def summary_tables(*titles: str) -> str:
    """Return tables of `olbench summary`."""
    parts = summary_document(list(papers().values())).parts()
    return render(*(each for each in parts if isinstance(each, Table) and each.caption in titles))


# --- scw2012 ---


def scw_headline() -> str:
    """Return the verdicts, each with its control."""
    return bullets(report("scw/reference").verdict_lines)


def scw_ranks() -> str:
    """Return the average ranks, and the pairs that a test separates."""
    ranks, pairs = tables("scw/reference", "across", "pairs")
    assert isinstance(pairs, Table)
    found = {frozenset(pair) for pair in zip(pairs["first"], pairs["second"], strict=True)}
    apart = {
        one: [other for other in report("scw/reference").ranks if {one, other} in found]
        for one in ("scw1", "scw2")
    }
    told = "; ".join(f"{one} from {', '.join(names)}" for one, names in apart.items())
    return f"{render(ranks)}\n\n{wrap(f'{pairs.caption}. Wilcoxon separates {told}.')}"


def scw_phrases() -> Iterator[str]:
    """Yield what docs/REPRODUCTION.md says of the runs scw, scw/variants and scw/scalings."""
    rates, updates = (means("scw/reference", name) for name in ("mistake_rate", "updates"))
    others, scaled = means("scw/variants", "mistake_rate"), means("scw/scalings", "mistake_rate")
    counts, more = means("scw/scalings", "updates"), means("scw/variants", "updates")
    claims = papers()["scw2012"].claims
    yield f"Of the paper's {claims.total()} claims, as we read them, {list_claims(claims)}"
    own = report("scw/reference")
    leaning = verdicts.count_leaning(own.judgements, own.headline)
    reproduced = verdicts.count(own.judgements, own.headline)[verdicts.REPRODUCED]
    weak = f"{leaning} only because our standard deviation is larger"
    yield f"Of the {reproduced} reproduced mistake rates, {weak}"
    grid = frame("scw/grid").query("dataset == 'synthetic' and label == 'scw1'")
    yield f"SCW-I has {rate(grid['mistake_rate'].mean(), 4)} there"
    yield f"its {grid['updates'].mean():.0f} updates still differ"
    yield f"where the tuned `scw2` makes {updates.loc['mushrooms', 'scw2']:.0f}"
    gap = (others["scw2-libol"] - rates["scw2"]).abs().max()
    yield f"`scw2-libol` is within {rate(math.ceil(1000 * gap) / 1000)} of `scw2` on every data set"
    pairs = {
        name: f"{rate(scaled.loc['usps-digit1', name], 4)} and {counts.loc['usps-digit1', name]:.0f}"
        for name in ("cw", "scw1")
    }
    yield f"it has {pairs['cw']}, and SCW-I {pairs['scw1']}"
    raw, unit = rates.loc["mnist-1-vs-2"], scaled.loc["mnist-1-vs-2-unit"]
    fall = {
        name: f"from {rate(raw[name], 4)} to {rate(unit[name], 4)}" for name in ("arow", "narow", "nherd")
    }
    yield (
        f"AROW falls {fall['arow']}, NAROW {fall['narow']} and NHERD {fall['nherd']}, compared with "
        f"{rate(unit['scw1'], 4)} for SCW-I"
    )
    cod = rates.loc["cod-rna", "cw"], updates.loc["cod-rna", "cw"]
    yield f"CW has {rate(cod[0], 4)} and {cod[1]:,.0f} updates and no breakdown"
    broken = frame("scw/variants").query("dataset == 'cod-rna' and label == 'cw'")["breakdowns"]
    yield (
        f"it has {rate(others.loc['cod-rna', 'cw'])} and {more.loc['cod-rna', 'cw']:,.0f} updates, with "
        f"breakdowns in {(broken > 0).sum()} of {broken.size} passes"
    )
    nherd = [rate(rates.loc[name, "nherd"]) for name in ("synthetic", "synthetic-noise")]
    yield f"({nherd[0]} against .120, {nherd[1]} against .208)"
    better = [
        f"{rate(others.loc[name, 'narow2010'])} instead of {rate(rates.loc[name, 'narow'])} on {name}"
        for name in ("svmguide3", "synthetic-noise", "cod-rna", "ijcnn1", "covtype")
    ]
    yield ", ".join(better)
    unit = scaled.loc["covtype-unit"], counts.loc["covtype-unit"]
    yield f"NHERD has {rate(unit[0]['nherd'], 4)} with {unit[1]['nherd']:,.0f} updates"
    yield f"SCW-II {unit[1]['scw2']:,.0f} against 451,193"
    grey = scaled.loc["mitface-raw"]
    yield f"CW {rate(grey['cw'])} against .028, AROW {rate(grey['arow'])} against .027"
    seconds = frame("scw/reference").groupby("dataset")["seconds"].sum()
    slow = seconds.sort_values(ascending=False)[:8]
    listed = ", ".join(f"{name} {value:.0f}" for name, value in slow.items())
    yield f"one at a time, take {seconds.sum():.0f} s"
    yield f"{listed}, and the other four together less than 2"
    assert seconds.sum() - slow.sum() < 2
    six = frame("scw/reference").query("label in ['cw', 'nherd', 'arow', 'narow', 'scw1', 'scw2']")
    yield f"the same passes take {six['seconds'].sum():.0f} s here"


# --- cw2012 and cw2008 ---


def cw_headline() -> str:
    """Return the verdicts on the test errors of all runs together, with their controls."""
    found = papers()["cw2012"]
    [quantity] = found.counts
    control = words.describe_control(found.controls[quantity])
    lines = [f"**{words.summary(found.judgements, quantity)}. {control}**"]
    return bullets([*lines, words.describe_identification(found.identification)])


def cw_unexplained() -> str:
    """Return the printed numbers that are counted apart."""
    found = papers()["cw2012"]
    [quantity] = found.counts
    rows = [
        (each.dataset, each.algorithm, each.reported.printed, quantity.text(each.mean), each.verdict)
        for each in verdicts.suspects(found.judgements)
    ]
    return "\n".join(table(("data set", "row", "printed", "ours", "verdict"), rows, "llrrl"))


def cw_tunings() -> str:
    """Return the three tunings side by side."""
    return render(*tables("cw/reference", "tunings", "tuning_verdicts"))


def cw_times() -> str:
    """Return the row of our times."""
    seconds = means("cw-times/reference", "seconds")
    columns = ["var-KL", "var-Exact", "perceptron", "pa", "maxent", "svm"]
    ours = [f"{1000 * mean:.1f}" for mean in seconds[columns].mean()]
    rows = [
        ["ours, milliseconds", *ours],
        ["printed, seconds", "0.11", "0.42", "0.10", "0.15", "3.23", "12.69"],
    ]
    return "\n".join(table(("", *columns), rows, "lrrrrrr"))


def count_lower(run: str, one: str, other: str, quantity: str = "test_error") -> tuple[int, int]:
    """Return on how many data sets of a run one mean is lower than another, and of how many."""
    own = means(run, quantity)
    return int((own[one] < own[other]).sum()), len(own)


def cw_phrases() -> Iterator[str]:
    """Yield what docs/REPRODUCTION-cw.md says of its runs."""
    text, digits = (report(f"{name}/reference") for name in ("cw", "cw-usps"))
    [quantity] = text.judged
    counts = [verdicts.count(each.judgements, quantity) for each in (text, digits)]
    compared = [each.total() - each[verdicts.NOT_COMPARABLE] for each in counts]
    reproduced = [each[verdicts.REPRODUCED] for each in counts]
    yield (
        f"{reproduced[0]} of the {compared[0]} that can be compared on text, and {reproduced[1]} of "
        f"{compared[1]} on digits"
    )
    rows = {each.row: each for each in text.controls[quantity].rows}
    yield (
        f"var-KL is reproduced on {rows['var-kl'].reproduced} of {rows['var-kl'].total} tasks and stdev-KL "
        f"on {rows['stdev-kl'].reproduced} of {rows['stdev-kl'].total}"
    )
    better, tasks = count_lower("cw/reference", "var-KL", "var-Exact")
    yield f"var-Exact is worse than var-KL on {better} of {tasks} tasks"
    yield f"than var-L2 on {count_lower('cw/reference', 'var-KL', 'var-L2')[0]} of {tasks} tasks"
    yield f"on most tasks is true on {count_lower('cw/reference', 'stdev-KL', 'var-KL')[0]} of {tasks}"
    errors = 100 * means("cw-tfidf/reference", "test_error")
    names = ("var-KL", "perceptron", "pa", "svm")
    assert {int((errors[f"{name}-tfidf"] < errors[name]).sum()) for name in names} == {13}
    yield "it lowers the error of var-KL, the perceptron, PA and the SVM on 13 of 13 tasks each"
    yield f"and that of stdev-KL on {(errors['stdev-KL-tfidf'] < errors['stdev-KL']).sum()}"
    mean = errors.mean()
    yield f"var-KL is at {mean['var-KL']:.2f}% on average and the SVM at {mean['svm']:.2f}%"
    yield f"with it at {mean['var-KL-tfidf']:.2f}% and {mean['svm-tfidf']:.2f}%"
    yield f"{mean['var-KL-unit']:.2f}% and {mean['svm-unit']:.2f}%"
    claims = {each.id: each for each in report("cw-unbalanced/reference").claims}
    told = re.match(r"on (\d+ of \d+) data sets", claims["cw-improves-on-unbalanced-labels"].evidence)
    assert told
    yield f"beats the perceptron, PA and SGD on {told[1]} tasks"
    seconds = means("cw-times/reference", "seconds")
    yield f"CW takes {(seconds['var-KL'] / seconds['pa']).median():.1f} times as long as PA"
    slower = seconds["svm"] / seconds["var-KL"]
    yield (
        f"LIBLINEAR takes {slower.median():.0f} times as long as var-KL (the median; {slower.min():.0f} to "
        f"{slower.max():.0f})"
    )
    epochs = frame("cw-times/reference").groupby("label")["epochs"].mean()
    assert round(epochs["var-KL"], 1) == round(epochs["pa"], 1)
    yield f"with {epochs['var-KL']:.1f} epochs each"
    yield f"it needs {epochs['var-Exact']:.1f} epochs on average where var-KL needs {epochs['var-KL']:.1f}"
    yield from cw2008_phrases()


def cw2008_phrases() -> Iterator[str]:
    """Yield what is said of the synthetic experiment."""
    claims = papers()["cw2008"].claims
    yield f"Of {claims.total()} claims, {list_claims(claims)}"
    trials = frame("cw-synthetic/reference").query("label == 'stdev-diag'")
    broken = trials.groupby("dataset")["breakdowns"].agg(lambda column: (column > 0).sum())
    yield (
        f"breaks down numerically in {broken['cw2008-synthetic']} of 1,000 runs, in the narrow reading in "
        f"{broken['cw2008-synthetic-narrow']}"
    )
    whole = trials.query("breakdowns == 0").groupby("dataset")["mistakes"].mean()
    own = means("cw-synthetic/reference", "mistakes")
    diagonal = 100 * (own["var-diag"] / whole - 1)
    full = 100 * (own["var-full"] / own["stdev-full"] - 1)
    wide, narrow = "cw2008-synthetic", "cw2008-synthetic-narrow"
    yield (
        f"CW-Var makes {diagonal[wide]:.0f}% more mistakes than CW-Stdev with a diagonal covariance "
        f"(printed: 8%) and {full[wide]:.0f}% more with a full one (printed: 17%); in the narrow reading "
        f"{diagonal[narrow]:.0f}% and {full[narrow]:.0f}%"
    )


# --- libol2013 ---


def libol_headline() -> str:
    """Return the verdicts, each with its control."""
    return bullets(report("libol/reference").verdict_lines)


def libol_phrases() -> Iterator[str]:
    """Yield what docs/papers/libol2013.md says of its run."""
    updates = means("libol/reference", "updates").loc["svmguide3"]
    for label, name in (("alma", "ALMA"), ("nherd", "NHERD"), ("scw2-libol", "SCW-II")):
        yield f"{name} makes {updates[label]:.0f} updates"


# --- adviceptron2010 ---

LEARNERS = {
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
TASKS = {
    "tb-east-asian": "East-Asian",
    "tb-east-african-indian": "East-African-Indian",
    "tb-euro-american": "Euro-American",
    "tb-indo-oceanic": "Indo-Oceanic",
    "tb-africanum": "*M. africanum*",
    "tb-bovis": "*M. bovis*",
}


def advice_headline() -> str:
    """Return what became of the claims, and on what data."""
    counts, own = papers()["adviceptron2010"].claims, report("advice/reference")
    other = {name for claim in own.claims for name in claim.other_size}
    return wrap(
        f"Of the {counts.total()} printed claims, {list_claims(counts)}. {len(other)} of the "
        f"{len(own.results.datasets)} data sets are other isolates than the paper's, without the marker "
        "MIRU24."
    )


def advice_small() -> str:
    """Return the accuracies on synthetic and diabetes."""
    cells = [
        ("advice-synthetic", "early_accuracy"), ("advice-synthetic", "accuracy"), ("pima", "early_accuracy"),
        ("pima", "accuracy"), ("pima", "early_balanced_accuracy"), ("pima", "balanced_accuracy"),
    ]  # fmt: skip
    rows = [
        [title, *(f"{100 * means('advice/reference', name).loc[task, label]:.2f}" for task, name in cells)]
        for label, title in LEARNERS.items()
    ]
    for label in ("adviceptron", "adviceptron-exact"):
        own = [f"{100 * means('advice/flipped', name).loc['pima', label]:.2f}" for _, name in cells[2:]]
        rows.append([f"{LEARNERS[label]}, rules exchanged", "", "", *own])
    headings = (
        "", "synthetic, early", "synthetic", "diabetes, early", "diabetes", "diabetes, balanced, early",
        "diabetes, balanced",
    )  # fmt: skip
    return "\n".join(table(headings, rows, "lrrrrrr"))


def advice_tuberculosis(early: str = "") -> str:
    """Return accuracy and balanced accuracy on the six tasks of tuberculosis."""
    both = [means("advice/reference", early + name) for name in ("accuracy", "balanced_accuracy")]
    rows = [
        [title, *(" / ".join(f"{100 * each.loc[task, label]:.1f}" for each in both) for task in TASKS)]
        for label, title in LEARNERS.items()
    ]
    return "\n".join(table(("", *TASKS.values()), rows, "lrrrrrr"))


def advice_phrases() -> Iterator[str]:
    """Yield what docs/REPRODUCTION-advice.md says of its runs."""
    accuracy, early = (100 * means("advice/reference", name) for name in ("accuracy", "early_accuracy"))
    for task, name in (("pima", "Diabetes"), ("advice-synthetic", "Synthetic")):
        first, last = ((each["adviceptron"] - each["pa2"])[task] for each in (early, accuracy))
        gains = f"{first:.1f} points after 10 examples and nothing after 200 (−{-last:.1f})"
        yield f"{name}: advice gains {gains}"
    flipped = 100 * means("advice/flipped", "accuracy").loc["pima"]
    yield f"exchanged rules cost {flipped['pa2'] - flipped['adviceptron']:.1f} points against PA-II"
    yield f"The large gap to PA, {(accuracy['adviceptron'] - accuracy['pa'])['pima']:.1f} points on diabetes"
    untuned = 100 - 100 * means("advice/reference", "tuned")["adviceptron"]
    tasks = ("tb-africanum", "tb-bovis", "tb-east-african-indian", "tb-indo-oceanic")
    first, *others = (f"{untuned[task]:.1f}% of {TASKS[task]}" for task in tasks)
    yield ", ".join((first.replace(" of ", " of the splits of "), *others))


# --- shards ---


def shards_table(run: str) -> str:
    """Return the accuracies of var-KL in shards."""
    [whole] = tables(run, "shards")
    assert isinstance(whole, Table)
    left_out = ("algorithm", "MB of a model")
    shown = [x for x, column in enumerate(whole.columns) if column.heading not in left_out]
    own = whole.take([y for y, label in enumerate(whole["algorithm"]) if label == "var-KL"])
    return render(replace(own, note="").keep(shown)).partition("\n\n")[2]


def shards_million() -> str:
    """Return the accuracies on a million documents, the best of each row in bold."""
    own, rows = 100 * means("shards-million/reference", "accuracy"), []
    for dataset in ("corpus-rare-million", "corpus-frequent-million"):
        for number in (10, 50, 100):
            ways = (f"var-KL ({number} shards, {way})" for way in ("average", "L2", "KL"))
            numbers = [own.loc[dataset, name] for name in ("var-KL", *ways, "pa1")]
            texts = (f"**{each:.2f}**" if each == max(numbers) else f"{each:.2f}" for each in numbers)
            rows.append([dataset, str(number), *texts])
    return "\n".join(table(("data set", "shards", "CW", "average", "L2", "KL", "PA-I"), rows, "lrrrrrr"))


# --- streams and measures ---

STREAMS, MEASURES = "streams/reference", "scw/measures"
FORGETFUL = ("cw", "arow", "scw1", "scw2")


def streams_accuracy() -> str:
    """Return the accuracy of every learner on every stream; bold: not significantly below the best."""
    whole, rows = report(STREAMS).results, []
    for label in whole.labels:
        texts = []
        for dataset in whole.datasets:
            entry = next(each for each in whole.of(dataset) if each.label == label)
            text = f"{100 * entry.mean(whole.protocol.quantities[0]):.2f}"
            texts.append(f"**{text}**" if whole.is_best(entry) else text)
        rows.append([label, *texts])
    note = "Accuracy in percent after the first tenth; bold: the best, and all not significantly below it."
    return "\n".join([*table(("learner", *whole.datasets), rows, "l" + "r" * len(whole.datasets)), "", note])


def streams_findings() -> str:
    """Return what the table says about baselines and kinds of learners."""
    own, whole = means(STREAMS, "accuracy"), report(STREAMS).results
    learners = [label for label in own.columns if label not in ("no-change", "majority-so-far")]
    lines = []
    for dataset in ("elec2", "covtype", "weather"):
        guess = own.loc[dataset, "no-change"]
        above = [label for label in learners if own.loc[dataset, label] > guess]
        best = own.loc[dataset, learners].idxmax()
        lines.append(
            f"On {dataset}, no change is right in {100 * guess:.2f}%; {len(above)} of {len(learners)} "
            f"learners are better, {best} most ({100 * own.loc[dataset, best]:.2f}%)"
        )
    wins = {dataset: own.loc[dataset, learners].idxmax() for dataset in whole.datasets}
    linear = [name for name in learners if name != "river-tree"]
    trees = [name for name, label in wins.items() if label == "river-tree"]
    lines.append(
        f"River's adaptive tree, the only learner that is not linear, is best on {len(trees)} of {len(wins)} "
        f"streams: {', '.join(trees) or 'none'}"
    )
    ranked = own[linear].rank(axis=1, ascending=False).mean().sort_values()
    listed = ", ".join(f"{label} {rank:.1f}" for label, rank in ranked.head(5).items())
    lines.append(f"Mean ranks of the linear learners over the nine streams: {listed}")
    return bullets(lines)


def streams_forgetting() -> str:
    """Return how much forgetting changes the accuracy of each learner on each stream."""
    own, rows = 100 * means(STREAMS, "accuracy"), []
    for dataset in report(STREAMS).results.datasets:
        gains = [own.loc[dataset, f"{id}-forgetting"] - own.loc[dataset, id] for id in FORGETFUL]
        texts = (f"{gain:+.2f}".replace("-0.00", "0.00") for gain in gains)
        rows.append([dataset, *texts, f"{own.loc[dataset, 'no-change']:.2f}"])
    gained = [float(cell) for row in rows for cell in row[1:-1]]
    text = (
        f"Forgetting raises the accuracy in {sum(gain > 0 for gain in gained)} of {len(gained)} cells, by up "
        f"to {max(gained):.1f} points, and lowers it in {sum(gain < 0 for gain in gained)}, by up to "
        f"{-min(gained):.1f}."
    )
    shown = table(("stream", *FORGETFUL, "no change"), rows, "lrrrrr")
    return "\n".join([*shown, "", wrap(f"Points of accuracy that forgetting 0.99 adds. {text}")])


def streams_drifts() -> str:
    """Return what the drifts of one stream cost each learner."""
    found = [each for each in tables(STREAMS, "drifts") if isinstance(each, Table)]
    return render(*(each for each in found if "Drifts of sea" in each.caption))


def measures_best() -> str:
    """Return the best learner by each measure, and how far the orders agree with that by mistakes."""
    whole, rows = report(MEASURES).results, []
    quantities = [each for each in whole.protocol.quantities if each.name in MEASURED]
    agreement: dict[str, list[float]] = {}
    for dataset in whole.datasets:
        columns = {each.name: each.loss(means(MEASURES, each.name).loc[dataset]) for each in quantities}
        for name, losses in columns.items():
            tau = losses.corr(columns["mistake_rate"], method="kendall")
            agreement.setdefault(name, []).append(float(tau))
        rows.append([dataset, *(f"{column.idxmin()}" for column in columns.values())])
    taus = [f"{min(values):.2f} to {max(values):.2f}" for values in agreement.values()]
    rows.append(["Kendall's tau with the mistake rate", *("–" if k == 0 else t for k, t in enumerate(taus))])
    lowest = agreement["balanced_accuracy"]
    text = (
        f"Yes. By the mistake rate {wins(rows, 1)}; by AUC {wins(rows, 3)}. On "
        f"{whole.datasets[lowest.index(min(lowest))]} the order by balanced accuracy has next to nothing to "
        f"do with that by mistakes (Kendall's tau {min(lowest):.2f})."
    )
    shown = table(("best on", *(each.title for each in quantities)), rows, "lllll")
    return "\n".join([wrap(text), "", *shown])


def wins(rows: list[list[str]], column: int) -> str:
    """Return which learner is best on how many data sets, in words."""
    counts = Counter(row[column] for row in rows[:-1])
    return " and ".join(f"{label} is best on {times} of {len(rows) - 1}" for label, times in counts.items())


def measures_ranks() -> str:
    """Return the rank of each learner by each measure, over the four data sets."""
    ranks = {
        name: means(MEASURES, name).rank(axis=1, ascending=name == "mistake_rate").mean() for name in MEASURED
    }
    order = ranks["mistake_rate"].sort_values().index
    rows = [[label, *(f"{ranks[name][label]:.2f}" for name in MEASURED)] for label in order]
    titles = (find_quantity(report(MEASURES).protocol, name).title for name in MEASURED)
    note = "Mean ranks over the four data sets, 1 is best."
    return "\n".join([*table(("learner", *titles), rows, "lrrrr"), "", note])


MEASURED = ("mistake_rate", "balanced_accuracy", "auc", "kappa")


# --- several classes ---

CLASSES, CLASSES_DIAG = "multiclass/reference", "multiclass-diag/reference"
#: The columns of the table, and how the labels of the run end.
WAYS = {
    "one-vs-rest": "-rest", "native": "", "l2": "-l2", "exact": "-exact", "shared": "-shared",
    "toolbox": "-libol",
}  # fmt: skip


def multiclass_table(run: str) -> str:
    """Return the mistake rates of every learner in every way, on every data set; the best in bold."""
    own = means(run, "mistake_rate")
    known = list(own.columns)
    bases = [label for label in known if f"{label}-rest" in known]
    ways = {name: end for name, end in WAYS.items() if any(f"{base}{end}" in known for base in bases)}
    rows = []
    for dataset in report(run).results.datasets:
        best = own.loc[dataset].min()
        for base in bases:
            texts = []
            for end in ways.values():
                value = own.loc[dataset].get(f"{base}{end}")
                text = "" if value is None else rate(value, 4)
                texts.append(f"**{text}**" if value == best else text)
            rows.append([dataset.removesuffix("[all]"), base, *texts])
    return "\n".join(table(("data set", "learner", *ways), rows, "ll" + "r" * len(ways)))


def multiclass_tests() -> str:
    """Return on how many data sets native learners make fewer mistakes, and how sure that is."""
    lines = []
    for name, one, other, runs in (
        ("Native against one-vs-rest", "", "-rest", (CLASSES, CLASSES_DIAG)),
        ("A covariance for each class against one for all", "", "-shared", (CLASSES,)),
        ("Exact against the toolbox, both with one covariance for all", "-shared", "-libol", (CLASSES,)),
    ):
        counts: Counter[str] = Counter()
        for run in runs:
            whole = report(run).results
            for dataset in whole.datasets:
                entries = {entry.label: entry for entry in whole.of(dataset)}
                pairs = [(entries[f"{base}{one}"], entries[f"{base}{other}"]) for base in PAIRED
                         if f"{base}{one}" in entries and f"{base}{other}" in entries]  # fmt: skip
                for first, second in pairs:
                    difference, p = paired_t(*(each.values(MISTAKE_RATE) for each in (first, second)))
                    counts["equal" if p >= LEVEL else "fewer" if difference < 0 else "more"] += 1
        lines.append(
            f"{name}: significantly fewer mistakes in {counts['fewer']} of {counts.total()} comparisons, "
            f"more in {counts['more']} (paired t-test over the orders, 5%)"
        )
    return bullets(lines)


PAIRED = ("perceptron", "romma", "aromma", "ogd", "pa", "pa1", "pa2", "cw", "arow", "scw1", "scw2")


# --- all papers ---


def audit_headline() -> str:
    """Return how many statements are right as printed."""
    every, wrong = len(checks()), sum(bool(each.correction) for each in checks())
    return wrap(
        f"**{every} statements: {every - wrong} are right as printed and {wrong} are not. All {wrong} "
        "corrections hold.** (`olbench audit`)"
    )


def claims_by_chance() -> str:
    """Return, for each paper, how many of the claims that hold would hold with wrong learners as well."""
    rows = []
    for id, found in papers().items():
        if not found.claims:
            continue
        shares = [
            own.chance_of(claim)
            for deciding in found.deciding.values()
            for own, claim in deciding
            if claim.verdict == "holds"
        ]
        known = [share for share in shares if share is not None]
        bounds = [sum(share < 0.1 for share in known), sum(0.1 <= share < 0.4 for share in known)]
        rows.append(
            [id, *map(str, (len(shares), *bounds, len(known) - sum(bounds), len(shares) - len(known)))]
        )
    headings = ("paper", "hold in a run", "below 10%", "10% to 40%", "40% and more", "no control")
    return "\n".join(table(headings, rows, "lrrrrr"))


def controls(run: str) -> str:
    """Return what the verdicts of a run prove."""
    return render(*tables(run, "evidence", "blind_matching"))


MAKERS: Mapping[str, Callable[[], str]] = {
    "advice-claims": lambda: render(*tables("advice/reference", "claims")),
    "advice-headline": advice_headline,
    "advice-small": advice_small,
    "advice-tuberculosis": advice_tuberculosis,
    "advice-tuberculosis-early": lambda: advice_tuberculosis("early_"),
    "audit-headline": audit_headline,
    "claims-by-chance": claims_by_chance,
    "cw-controls": lambda: controls("cw/reference"),
    "cw-headline": cw_headline,
    "cw-table": lambda: render(*tables("cw/reference", "overview")),
    "cw-times": cw_times,
    "cw-tunings": cw_tunings,
    "cw-unexplained": cw_unexplained,
    "cw-usps-table": lambda: render(*tables("cw-usps/reference", "overview")),
    "cw2008-claims": lambda: render(*tables("cw-synthetic/reference", "claims")),
    "cw2008-table": lambda: render(*tables("cw-synthetic/reference", "results")),
    "libol-headline": libol_headline,
    "libol-map": lambda: render(*tables("libol/reference", "verdict_map")),
    "libol-rates": lambda: render(*tables("libol/reference", "overview")),
    "papers-claims": lambda: summary_tables("Claims, checked on our runs"),
    "papers-evidence": lambda: summary_tables("What the verdicts prove"),
    "papers-numbers": lambda: summary_tables("Published numbers, ours beside them"),
    "scw-controls": lambda: controls("scw/reference"),
    "scw-headline": scw_headline,
    "scw-map": lambda: render(*tables("scw/reference", "verdict_map")),
    "scw-optimism": lambda: render(*tables("scw/reference", "tuning")),
    "scw-ranks": scw_ranks,
    "scw-rates": lambda: render(*tables("scw/reference", "overview")),
    "streams-accuracy": streams_accuracy,
    "streams-findings": streams_findings,
    "streams-forgetting": streams_forgetting,
    "streams-drifts": streams_drifts,
    "measures-best": measures_best,
    "measures-ranks": measures_ranks,
    "multiclass-full": lambda: multiclass_table(CLASSES),
    "multiclass-diag": lambda: multiclass_table(CLASSES_DIAG),
    "multiclass-tests": multiclass_tests,
    "shards": lambda: shards_table("shards/reference"),
    "shards-many": lambda: shards_table("shards-many/reference"),
    "shards-million": shards_million,
}


def readme_phrases() -> Iterator[str]:
    """Yield what README.md says of the audit."""
    wrong = sum(bool(each.correction) for each in checks())
    yield f"checks {len(checks())} statements of the four papers and of the authors' toolbox: {wrong} need"


def tutorial_phrases() -> Iterator[str]:
    """Yield what the tutorial on verdicts shows of `olbench report scw`."""
    own = report("scw/reference")
    for quantity in own.judged:
        line = words.summary(own.judgements, quantity)
        yield from re.split(r" \(\d+ only because our standard deviation is larger\), ", line)


#: The phrases that a page must contain, line breaks aside.
CHECKED: Mapping[str, Callable[[], Iterator[str]]] = {
    "README.md": readme_phrases,
    "docs/REPRODUCTION.md": scw_phrases,
    "docs/REPRODUCTION-cw.md": cw_phrases,
    "docs/REPRODUCTION-advice.md": advice_phrases,
    "docs/papers/libol2013.md": libol_phrases,
    "docs/tutorials/reading-verdicts.md": tutorial_phrases,
}


def pages() -> list[Path]:
    """Return the pages that numbers are written to."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def make(name: str) -> str:
    """Return the Markdown of a name."""
    return MAKERS[name]()


def fill(text: str) -> str:
    """Return a page with all marked places made anew."""
    return MARK.sub(lambda mark: f"{mark[1]}{make(mark[2])}\n{mark[4]}", text)


def find_drift(page: str, text: str) -> list[str]:
    """Return the marked places of a page that differ from the runs, and the phrases that it lacks."""
    drifted = [f"{page}: {mark[2]}" for mark in MARK.finditer(text) if mark[3] != f"{make(mark[2])}\n"]
    words = " ".join(text.split())
    phrases = CHECKED[page]() if page in CHECKED else ()
    return drifted + [f"{page} lacks: {phrase}" for phrase in phrases if phrase not in words]


def refresh() -> int:
    """Write all pages anew; print the phrases that do not hold any more, which are mended by hand."""
    missing = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if fill(text) != text:
            path.write_text(fill(text), encoding="utf-8")
        missing += find_drift(str(path.relative_to(ROOT)), fill(text))
    print("\n".join(missing))
    return len(missing)


if __name__ == "__main__":
    sys.exit(bool(refresh()))
