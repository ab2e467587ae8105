"""The tables of a report: the paper's three, the verdicts and the statistics."""

from collections.abc import Iterator

from olbench.algorithms import definitions
from olbench.algorithms.definition import Definition
from olbench.report import verdicts
from olbench.report.build import Report, Row
from olbench.report.frame import Entry
from olbench.report.grid import Cell, Column, Grid, cells, left, right
from olbench.report.verdicts import Judgement
from olbench.stats import CONDITIONAL, Across

TRAITS = {
    "large_margin": "large margin",
    "confidence": "confidence",
    "non_separable": "non-separable",
    "adaptive_margin": "adaptive margin",
}
#: So many sentences about what is missing can be read.
FEW = 12
BOLD_NOTE = (
    "* or bold: the lowest mean, and all that the paired t-test over the shared permutations does not find "
    "different from it at the 95% level."
)
SHARED_NOTE = (
    "Times in brackets were taken while other trials ran, so they stand for nothing; `olbench run --timing "
    "exclusive` measures them alone."
)
LETTERS = {
    verdicts.REPRODUCED: "R",
    verdicts.CLOSE: "c",
    verdicts.DIFFERS: "D",
    verdicts.NOT_COMPARABLE: "–",
}


def sections(report: Report) -> Iterator[Grid | str]:
    """Yield everything that a report in words has, in its order."""
    yield _headline(report)
    yield from table3(report)
    if report.paper:
        yield from _verdicts(report)
    yield from tuning(report)
    yield from _statistics(report)
    yield table1(report)
    yield table2(report)
    yield _provenance(report)


def _headline(report: Report) -> str:
    results = report.results
    tuning = results.info["config"].get("tuning", {}).get("search", "none")
    counts = f"{_count(len(results.datasets), 'data set')}, {_count(len(results.labels), 'algorithm')}"
    lines = [
        f"{results.name}: {counts}, {results.info['config'].get('permutations', 20)} permutations, "
        f"tuning: {tuning}; run of {report.made}"
    ]
    if results.missing:
        lines += _incomplete(report)
    if report.paper:
        lines += [verdicts.summary(report.judgements, quantity) for quantity in verdicts.JUDGED]
    return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _incomplete(report: Report) -> list[str]:
    """Return what is missing: a line each while they are few, else a line a data set."""
    missing, results = report.results.missing, report.results
    lines = [f"INCOMPLETE: {len(missing)} of {len(results.entries)} rows are not finished:"]
    if len(missing) <= FEW:
        return [*lines, *(f"  {sentence}" for sentence in missing)]
    for dataset in results.datasets:
        own = [entry for entry in results.entries if entry.dataset == dataset]
        done = sum(entry.done == entry.planned for entry in own)
        lines.append(f"  {dataset}: {done} of {len(own)} rows are finished")
    return lines


def spread(values: tuple[float, float], form: str) -> str:
    """Return a mean and its deviation as the papers print them."""
    mean, deviation = values
    return f"{mean:{form}} ± {deviation:{form}}"


def time(row: Row) -> str:
    """Return the time of a pass; in brackets unless it was measured alone."""
    shown = spread(row.seconds, ".4f" if row.seconds[0] < 1 else ".3f")
    return shown if row.entry.exclusive else f"({shown})"


def settings(entry: Entry) -> str:
    """Return the chosen parameters in a few words."""
    params = ", ".join(f"{name}={short(value)}" for name, value in (entry.params or {}).items())
    broken = int((entry.trials["breakdowns"] > 0).sum())
    notes = [params] if params else []
    notes += [f"breakdowns in {broken} of {entry.done}"] if broken else []
    return "; ".join(notes)


def short(value: object) -> str:
    """Return a parameter's value without zeros at its end."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def table3(report: Report) -> Iterator[Grid]:
    """Yield Table 3, a block a data set, with what its marks mean below the last one."""
    datasets = list(dict.fromkeys(row.entry.dataset for row in report.rows))
    alone = all(row.entry.exclusive for row in report.rows)
    for dataset in datasets:
        rows = report.block(dataset)
        heading = "seconds" if all(row.entry.exclusive for row in rows) else "(seconds, shared)"
        columns = (*left("algorithm"), *right("mistake rate", "updates", heading))
        columns += left("parameters", optional=True)
        if report.paper:
            columns += right("paper: mistake rate", "updates") + right("seconds / ours", optional=True)
        note = BOLD_NOTE if alone else f"{BOLD_NOTE} {SHARED_NOTE}"
        body = tuple(_table3_row(row, report) for row in rows)
        last = dataset == datasets[-1]
        yield Grid(f"Table 3: {_shape(report, dataset)}", columns, body, note if last else "")


def _shape(report: Report, dataset: str) -> str:
    facts = report.results.info.get("data", {}).get(dataset)
    return f"{dataset} ({facts['rows']:,} × {facts['features']:,})" if facts else dataset


def _table3_row(row: Row, report: Report) -> tuple[Cell, ...]:
    ours = (
        Cell(row.entry.label),
        Cell(spread(row.mistake_rate, ".4f"), row.bold),
        *cells(spread(row.updates, ",.1f"), time(row), settings(row.entry)),
    )
    if report.paper is None:
        return ours
    judged = [row.judgements.get(quantity) for quantity in verdicts.JUDGED]
    return *ours, *cells(*map(_judged, judged), _ratio(row, report))


def _ratio(row: Row, report: Report) -> str:
    """Return the paper's seconds over ours; in brackets, as our time, unless that was measured alone."""
    ratio = report.time_ratios.get((row.entry.dataset, row.entry.label))
    judgement = row.judgements.get("mistake_rate")
    if ratio is None or judgement is None or judgement.verdict == verdicts.NOT_COMPARABLE:
        return ""
    return f"{ratio:,.0f}" if row.entry.exclusive else f"({ratio:,.0f})"


def _judged(judgement: Judgement | None) -> str:
    return f"{reported(judgement)} {LETTERS[judgement.verdict]}" if judgement else ""


def reported(judgement: Judgement) -> str:
    """Return a reported number as it is printed in the paper."""
    number = judgement.reported
    form = ".3f" if judgement.quantity == "mistake_rate" else ",.1f"
    return spread((number.mean, number.deviation), form)


def ours(judgement: Judgement) -> str:
    """Return our number beside a reported one."""
    if judgement.mean is None or judgement.deviation is None:
        return ""
    form = ".4f" if judgement.quantity == "mistake_rate" else ",.1f"
    return spread((judgement.mean, judgement.deviation), form)


def _verdicts(report: Report) -> Iterator[Grid | str]:
    yield glance(report)
    yield verdict_map(report)
    yield not_reproduced(report)
    yield from not_comparable(report)
    yield claims(report)


def verdict_map(report: Report) -> Grid:
    """Return the verdicts of all cells at a glance, and the agreement of the orders."""
    assert report.paper is not None
    names = report.paper.algorithms
    found = {(j.dataset, j.algorithm, j.quantity): LETTERS[j.verdict] for j in report.judgements}
    rows = []
    for dataset in [name for name in report.results.datasets if name in report.paper.datasets]:
        letters = [
            "".join(found.get((dataset, name, quantity), " ") for quantity in verdicts.JUDGED)
            for name in names
        ]
        tau = report.taus.get(dataset)
        rows.append(cells(dataset, *letters, "" if tau is None else f"{tau:.2f}"))
    middle = tuple(Column(name, "center") for name in names)
    return Grid(
        "Verdicts: mistake rate and updates",
        (*left("data set"), *middle, *right("Kendall's tau")),
        tuple(rows),
        "R reproduced, c close, D differs, – not comparable. Reproduced: the means are within "
        f"{_width(verdicts.REPRODUCED)} of each other, and half a unit of the last printed digit; close: "
        f"{_width(verdicts.CLOSE)}.",
    )


def glance(report: Report) -> Grid:
    """Return the mistake rates of the paper's table on one page: ours, the paper's, and the verdict."""
    assert report.paper is not None
    rates = {(j.dataset, j.algorithm): j for j in report.judgements if j.quantity == "mistake_rate"}
    best = {(row.entry.dataset, row.entry.label) for row in report.rows if row.bold}
    rows = []
    for dataset in [name for name in report.results.datasets if name in report.paper.datasets]:
        own = [rates[dataset, id] for id in report.paper.algorithms]
        rows.append((Cell(dataset), *(Cell(_beside(j), (dataset, j.label) in best) for j in own)))
    return Grid(
        "Mistake rates, ours / the paper's",
        (*left("data set"), *right(*report.paper.algorithms)),
        tuple(rows),
        "* or bold: lowest in our run, or not significantly higher. R reproduced, c close, D differs.",
    )


def _beside(judgement: Judgement) -> str:
    if judgement.mean is None:
        return f"– / {judgement.reported.mean:.3f}"
    return f"{judgement.mean:.3f} / {judgement.reported.mean:.3f} {LETTERS[judgement.verdict]}"


def _width(verdict: str) -> str:
    return f"{verdicts.TOLERANCES[verdict]:g} deviations (the larger of the paper's and ours)"


def not_reproduced(report: Report) -> Grid:
    """Return every judged number that is not reproduced, ours beside it."""
    passed = (verdicts.REPRODUCED, verdicts.NOT_COMPARABLE)
    others = [judgement for judgement in report.judgements if judgement.verdict not in passed]
    return Grid(
        "Not reproduced",
        (*left("data set", "algorithm", "quantity"),
         *right("paper", "ours", "difference", "z (standard errors)"),
         *left("verdict")),
        tuple(_judgement_row(judgement) for judgement in others),
    )  # fmt: skip


def not_comparable(report: Report) -> Iterator[str]:
    """Yield the reasons for which numbers were not judged, with the cells of each."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for judgement in report.judgements:
        if judgement.verdict == verdicts.NOT_COMPARABLE and judgement.quantity == "mistake_rate":
            cells_of = reasons.setdefault(judgement.reason, {})
            cells_of.setdefault(judgement.dataset, []).append(judgement.algorithm)
    everything = report.paper.algorithms if report.paper else ()
    for reason, found in reasons.items():
        names = (
            dataset if len(algorithms) == len(everything) else f"{dataset} ({', '.join(algorithms)})"
            for dataset, algorithms in found.items()
        )
        yield f"Not comparable, as {reason}: {', '.join(names)}"


def _judgement_row(judgement: Judgement) -> tuple[Cell, ...]:
    form = "+.4f" if judgement.quantity == "mistake_rate" else "+,.1f"
    difference = "" if judgement.difference is None else f"{judgement.difference:{form}}"
    z = "" if judgement.z is None else f"{judgement.z:+.1f}"
    quantity = judgement.quantity.replace("_", " ")
    about = (judgement.dataset, judgement.algorithm, quantity, reported(judgement), ours(judgement))
    return cells(*about, difference, z, judgement.verdict)


def claims(report: Report) -> Grid:
    """Return the paper's claims with our verdict, and what its own table says of them."""
    rows = [cells(c.text, c.where, c.verdict, c.own_verdict, c.evidence) for c in report.claims]
    columns = left("claim", "where", "here", "in its own table", "evidence here")
    return Grid("Claims of the paper", columns, tuple(rows))


def tuning(report: Report) -> Iterator[Grid]:
    """Yield how much lower the chosen parameters scored in the orders that chose them."""
    rows = []
    for dataset in report.results.datasets:
        found = sorted(
            (float(entry.rates.mean()) - entry.tuned, entry.label)
            for entry in report.results.of(dataset)
            if entry.tuned is not None
        )
        if found:
            mean = sum(optimism for optimism, _ in found) / len(found)
            ends = (f"{optimism:+.4f} ({label})" for optimism, label in (found[0], found[-1]))
            rows.append(cells(dataset, str(len(found)), f"{mean:+.4f}", *ends))
    if rows:
        yield Grid(
            "Optimism of the tuning: the reported mistake rate less that in the orders which chose",
            (*left("data set"), *right("tuned", "mean", "smallest", "largest")),
            tuple(rows),
            "Who reports the best pass of a search instead of new orders gains this much, by luck.",
        )


def _statistics(report: Report) -> Iterator[Grid | str]:
    for dataset in report.within:
        yield within(report, dataset)
    if isinstance(report.across, str):
        yield f"No comparison across data sets: {report.across}"
        return
    yield across(report.across)
    yield pairs(report.across)


def within(report: Report, dataset: str) -> Grid:
    """Return the differences to the best on one data set."""
    best, differences = report.within[dataset]
    rows = tuple(
        cells(
            d.label, f"{d.mean:+.4f}", f"[{d.low:+.4f}, {d.high:+.4f}]", f"{d.wins}/{d.ties}/{d.losses}",
            f"{d.p:.3g}",
        )
        for d in differences
    )  # fmt: skip
    return Grid(
        f"Within {dataset}: mistake rate less that of {best}, the lowest",
        (*left("algorithm"), *right("difference", "95% bootstrap", "wins/ties/losses", "p (paired t)")),
        rows,
        f"Every number here is {CONDITIONAL}.",
    )


def across(found: Across) -> Grid:
    """Return the average ranks over data sets."""
    ordered = sorted(found.ranks, key=lambda label: (found.ranks[label], label))
    return Grid(
        f"Across {len(found.datasets)} data sets: average ranks of the mistake rate",
        (*left("algorithm"), *right("average rank")),
        tuple(cells(label, f"{found.ranks[label]:.2f}") for label in ordered),
        f"Friedman: chi-square {found.statistic:.2f}, p = {found.p:.3g}; Iman-Davenport: F "
        f"{found.iman_davenport:.2f}, p = {found.iman_davenport_p:.3g}; critical difference "
        f"{found.critical_difference:.2f} (Nemenyi, 5%). {found.power}",
    )


def pairs(found: Across) -> Grid:
    """Return the pairs that differ across data sets, after Holm."""
    different = [pair for pair in found.pairs if pair.significant]
    shown = different or sorted(found.pairs, key=lambda pair: pair.p)[:5]
    title = f"{len(different)} of {len(found.pairs)} pairs differ across data sets (Wilcoxon, Holm, 5%)"
    if not different:
        title += "; the nearest are"
    return Grid(
        title,
        (*left("first", "second"), *right("p", "adjusted p")),
        tuple(cells(pair.first, pair.second, f"{pair.p:.3g}", f"{pair.adjusted:.3g}") for pair in shown),
    )


def table1(report: Report) -> Grid:
    """Return Table 1: the traits of the algorithms, from the registry."""
    known = {definition.id: definition for definition in definitions()}
    ids = dict.fromkeys(entry.algorithm for entry in report.results.entries)
    columns = (*left("algorithm", "name"), *(Column(words, "center") for words in TRAITS.values()))
    rows = tuple(_traits(id, known.get(id)) for id in ids)
    return Grid("Table 1: traits", (*columns, *left("source")), rows)


def _traits(id: str, definition: Definition | None) -> tuple[Cell, ...]:
    if definition is None:
        return cells(id, id, *[""] * len(TRAITS), "of the user's own")
    traits = definition.traits
    marks = ("✓" if traits and getattr(traits, name) else "" for name in TRAITS)
    return cells(id, definition.title, *marks, definition.source)


def table2(report: Report) -> Grid:
    """Return Table 2: the data sets, from the record and the catalogue."""
    from olbench.data.catalog import catalog

    rows = []
    for name, facts in report.results.info.get("data", {}).items():
        entry = catalog().get(name.partition("[")[0])
        source = entry.source if entry else "the user's file"
        steps = ", ".join(entry.preprocess) if entry and entry.preprocess else "as it is"
        size = (f"{facts['rows']:,}", f"{facts['features']:,}")
        rows.append(
            cells(name, *size, _in_paper(report, name, facts), source, steps, facts["fingerprint"][:12])
        )
    columns = (*left("data set"), *right("examples", "features"), *left("in the paper", "source", "values"))
    return Grid("Table 2: data sets", (*columns, *left("fingerprint", optional=True)), tuple(rows))


def _in_paper(report: Report, name: str, facts: dict[str, int]) -> str:
    """Return whether the paper's Table 2 has the same size."""
    printed = report.paper.shapes.get(name) if report.paper else None
    if printed is None:
        return ""
    different = [f"{value:,} {key}" for key, value in printed.items() if facts[key] != value]
    return ", ".join(different) or "the same size"


def _provenance(report: Report) -> str:
    info = report.results.info
    versions = ", ".join(f"{name} {version}" for name, version in info.get("versions", {}).items())
    machine = info.get("machine", {})
    commit = (
        f"commit {info['commit'][:12]}{' with changes' if info['dirty'] else ''}; "
        if info.get("commit")
        else ""
    )
    return (
        f"{commit}seed {info.get('seeds', {}).get('seed')}; {versions}; {machine.get('processor')}, "
        f"{machine.get('cores')} cores, {machine.get('system')}"
    )
