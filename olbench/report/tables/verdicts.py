"""Verdicts on a paper's numbers and claims, and the evidence that they provide."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from olbench.analysis import verdicts
from olbench.analysis.claims import DERANGED, HOLDS
from olbench.analysis.difference import TrialContest
from olbench.analysis.evidence import UNEXPLAINED, NamedRow, joint_verdicts
from olbench.analysis.verdicts import DEVIATION, NOT_COMPARABLE, REPRODUCED, Judgement
from olbench.errors import count
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import Quantity
from olbench.report import table as t
from olbench.report import words
from olbench.report.figures.palette import display_name
from olbench.report.model import Report
from olbench.report.table import Column, Format, Spread, Table, capitalise, columns, mark
from olbench.report.tables import table
from olbench.report.tables.results import by_dataset, contestants

DEVIATION_NOTE = (
    "By the paper's: reproduced by the paper's standard deviation, even if ours is larger. Same mean: a "
    "test in standard errors does not reject equal means at 5%; it is stricter, because it allows for other "
    "orders but not for other parameters."
)
WRONG_NOTE = (
    "Wrong: how many numbers of this row the other learners of the run would reproduce. Swapped at random: "
    "every row of the paper gets the learner of another row."
)
MATCHING_NOTE = (
    "Blind matching finds the learner of the run that gives the printed means of a row the highest "
    "likelihood (normal, with the standard deviations of both sides and the rounding; one number in "
    f"{1 / UNEXPLAINED:.0f} may be anything). Margin: the log-likelihood in excess of the best other "
    "learner; 3 or more, a factor of 20, is decisive. Jointly reproduced: in every quantity that the paper "
    "prints for the cell."
)
CLAIMS_NOTE = (
    "By chance: how often the claim does at least as well under random relabelling of the algorithms "
    f"(all derangements, or {DERANGED} random ones). Not significant: the run neither supports nor "
    "contradicts the claim significantly. Reversed: the opposite is significant on at least half of the data "
    "sets, and on more than the claim holds on. Each test is over the orders, folds or "
    "splits of one data set; p-values are not corrected for multiple testing."
)
BOLD_NOTE = (
    "* or bold, by the paper's own test: the best in our run, and all that the paired t-test over the shared "
    "permutations at {:.0%}, uncorrected, does not find worse; it is over orders of these rows."
)
#: How many numbers the best wrong learner reproduces, and its name.
MOST_WRONG = Format(
    lambda best: f"{best[0]:.0f} ({best[1]})",
    on_paper=lambda best: f"{best[0]:.0f} ({display_name(best[1])})",
)


def legend(report: Report) -> str:
    letters = [f"{letter} {verdict}" for verdict, letter in words.LETTERS.items()]
    used = {sign for each in report.judgements for sign in words.marks(each)}
    return ", ".join((*letters, *(f"{sign} {text}" for sign, text in words.MARKS.items() if sign in used)))


@table("Verdicts", 20)
def overview(report: Report) -> Table | None:
    """Return our means and the paper's: of the paper's algorithms, or of all under cross-validation."""
    if not report.judgements and not report.is_cross_validated:
        return None
    quantity, cells = report.headline, {}
    if report.is_cross_validated:
        for entry in contestants(report):
            judgement = report.judgements_of(entry).get(quantity.name)
            value = judgement or entry.mean(quantity)
            cells[entry.dataset, entry.label] = mark(value, report.results.is_best(entry))
    else:
        quantity = report.judged[0]
        for dataset in shown_datasets(report):
            best = _find_bold(report, dataset, quantity)
            for row in report.paper.algorithms if report.paper else ():
                judgement = report.by_place.get((dataset, row, quantity.name))
                cells[dataset, row] = mark(judgement, judgement is not None and judgement.label in best)

    def show(value: Judgement | float) -> str:
        if not isinstance(value, Judgement):
            return quantity.text(value)
        printed = value.reported.printed.partition(" ")[0]
        if value.mean is None:
            return f"– / {printed}"
        ours = quantity.text(value.mean, len(printed.partition(".")[2]))
        return f"{ours} / {printed} {words.letter(value)}{'?' if value.reported.suspect else ''}"

    def plain(value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Judgement):
            return {"_ours": value, "_paper": None}
        return {"_ours": value.mean, "_paper": value.reported.mean}

    title = capitalise(quantity.title if report.is_cross_validated else quantity.counted)
    title += ", ours / the paper's" if report.judgements else ""
    bold = words.describe_bold(report.results)
    if report.paper and report.paper.bold and not report.is_cross_validated:
        bold = BOLD_NOTE.format(report.paper.bold)
    notes = [bold, f"{legend(report)}." if report.judgements else ""]
    if report.is_cross_validated and any(each.reported.suspect for each in report.judgements):
        notes.append("?: the printed number is unexplained.")
    format = Format(show, plain=plain, verdict=lambda value: getattr(value, "verdict", ""))
    return by_dataset(title, format, cells, " ".join(filter(None, notes)))


def _find_bold(report: Report, dataset: str, quantity: Quantity) -> set[str]:
    """Return what the test of the paper leaves in bold or, if the paper names none, our own."""
    contest, level = report.results.contest(dataset, quantity), report.paper and report.paper.bold
    if not (level and isinstance(contest, TrialContest)):
        return report.results.best[dataset]
    found = replace(contest, influence=None).differences()
    return {contest.best, *(each.label for each in found if each.p > level)}


def shown_datasets(report: Report) -> list[str]:
    reported = report.paper.datasets if report.paper else ()
    return [name for name in report.results.datasets if name in reported]


def judgement_data(report: Report) -> Mapping[str, Any]:
    return {"judgements": [each.data for each in report.judgements], "kendall_tau": report.taus}


def describe_judgement(report: Report, judgement: Judgement) -> str:
    """Return the facts behind a verdict, one per line."""
    quantity = find_quantity(report.protocol, judgement.quantity)
    lines = [f"{judgement.dataset}, {judgement.label}, {quantity.title}: {judgement.verdict}"]
    if judgement.mean is not None:
        spread = "" if judgement.deviation is None else f" ± {quantity.text(judgement.deviation)}"
        lines.append(f"ours {quantity.text(judgement.mean)}{spread}")
    lines.append(f"reported {judgement.reported.printed} ({judgement.where})")
    if judgement.difference is not None:
        z = "" if judgement.z is None else f", z = {judgement.z:.1f}"
        lines.append(f"difference {quantity.text(judgement.difference, sign='+')}{z}")
    if judgement.basis == verdicts.BINOMIAL:
        lines.append("compared in standard errors: the paper prints no standard deviation")
    lines += [f"{judgement.verdict} {words.MARKS[words.LEANS]}"] if judgement.leans else []
    return "\n".join([*lines, *([judgement.reason] if judgement.reason else [])])


@table("Verdicts", 30, data=judgement_data)
def verdict_map(report: Report) -> Iterator[Table]:
    meanings = words.describe_meanings(report.judgements)
    format = Format(
        words.letter,
        "center",
        plain=lambda judgement: {"": judgement and judgement.verdict},
        tip=lambda judgement: describe_judgement(report, judgement),
        verdict=attrgetter("verdict"),
    )
    for place, quantity in enumerate(report.judged):
        assert report.paper is not None
        names, ranks = report.paper.algorithms, quantity is report.headline
        rows = []
        for dataset in shown_datasets(report):
            cells = [report.by_place.get((dataset, name, quantity.name)) for name in names]
            rows.append([dataset, *cells, *([report.taus.get(dataset)] if ranks else [])])
        tau = (Column("Kendall's tau", t.number(2)),) if ranks else ()
        note = f"{legend(report)}. Reproduced: {meanings[REPRODUCED]}. Close: {meanings[verdicts.CLOSE]}."
        yield Table(
            f"Verdicts: {quantity.title}",
            (Column("data set"), *t.algorithm_columns(names, format), *tau),
            rows,
            "" if place else f"{note} {words.describe_exceptions(report.judgements)}".strip(),
        )


@table("Verdicts", 31)
def not_reproduced(report: Report) -> Iterator[Table]:
    passed = (REPRODUCED, NOT_COMPARABLE)
    others = [each for each in report.judgements if each.verdict not in passed and not each.reported.suspect]
    return _list(report, "Not reproduced", others)


@table("Verdicts", 32)
def unexplained(report: Report) -> Iterator[Table]:
    found = [each for each in report.judgements if each.reported.suspect]
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in found:
        reasons.setdefault((each.algorithm, each.reported.suspect), []).append(each.dataset)
    note = " ".join(f"{row} on {', '.join(names)}: {reason}." for (row, reason), names in reasons.items())
    return _list(report, "Unexplained printed numbers, counted separately", found, note)


def _list(report: Report, title: str, judgements: Sequence[Judgement], note: str = "") -> Iterator[Table]:
    for quantity in report.judged:
        rows = []
        for each in (each for each in judgements if each.quantity == quantity.name):
            ours = None if each.mean is None else Spread(each.mean, each.deviation)
            where = (each.dataset, each.algorithm, each.reported.printed)
            rows.append((*where, ours, each.difference, each.z, each.verdict))
        shown = (
            *t.ROW,
            Column("paper", t.RIGHT),
            Column("ours", t.spread(quantity)),
            Column("difference", t.measured(quantity, sign="+"), t.DETAIL),
            Column("z (standard errors)", t.number(1, "+"), t.DETAIL, name="z"),
            Column("verdict", t.VERDICT),
        )
        yield Table(f"{title}: {quantity.title}", shown, rows, note)


@table("Verdicts", 33)
def not_comparable(report: Report) -> Iterator[str]:
    first = [each for each in report.judgements if each.quantity == report.judged[0].name]
    reasons: dict[str, dict[str, list[str]]] = {}
    for each in first:
        if each.verdict == NOT_COMPARABLE:
            reasons.setdefault(each.reason, {}).setdefault(each.dataset, []).append(each.algorithm)
    judged = Counter(each.dataset for each in first)
    for reason, rows in reasons.items():
        names = (
            dataset if len(algorithms) == judged[dataset] else f"{dataset} ({', '.join(algorithms)})"
            for dataset, algorithms in rows.items()
        )
        yield f"Not comparable ({reason}): {', '.join(names)}"


def evidence_data(report: Report) -> Mapping[str, Any]:
    if not report.printed_cells:
        return {"controls": None, "identification": None, "joint": None}
    found, names = report.identification, ("fewest", "median", "most")
    return {
        "controls": {
            quantity.name: {
                "reproduced": each.reproduced,
                "compared": each.total,
                "deranged": dict(zip(names, each.deranged, strict=True)) if each.deranged else None,
                "rows": [{**vars(row), "median": row.median, "best": row.best} for row in each.rows],
            }
            for quantity, each in report.controls.items()
        },
        "identification": {
            "rows": [_named_data(row) for row in found.rows],
            "cells": [{"dataset": name, **_named_data(cell)} for (name, _), cell in found.cells.items()],
            "rows_right": sum(row.is_right for row in found.rows),
            "cells_right": sum(named.is_right for named in found.cells.values()),
            "cells_right_by_chance": found.chance,
        },
        "joint": dict(Counter(joint_verdicts(report.judgements).values())),
    }


def _named_data(named: NamedRow) -> dict[str, Any]:
    return {**vars(named), "is_right": named.is_right, "is_identified": named.is_identified}


@table("Evidence", 40, data=evidence_data)
def evidence(report: Report) -> Iterator[Table]:
    shown = [(quantity, found) for quantity, found in report.controls.items() if found.rows]
    for quantity, found in shown:
        judgements = [e for e in report.judgements if e.quantity == quantity.name and e.is_compared]
        # Without printed deviations, both columns would repeat the verdict.
        has_deviations = any(each.basis == DEVIATION for each in judgements)
        rows = []
        for row in found.rows:
            own = [each for each in judgements if each.algorithm == row.row]
            by_paper = sum(each.by_paper == REPRODUCED for each in own)
            more = [by_paper, sum(bool(each.is_same_mean) for each in own)] if has_deviations else []
            best = (row.others[row.best], row.best) if row.best else None
            rows.append([row.row, row.total, row.reproduced, *more, row.median, best])
        lines = [f"{words.describe_control(found)}."] if found.deranged else []
        if quantity is shown[0][0]:
            lines += [WRONG_NOTE, *([DEVIATION_NOTE] if has_deviations else [])]
        extra = ("by the paper's", "same mean") if has_deviations else ()
        yield Table(
            f"What the verdicts on {quantity.counted} prove",
            (
                Column("row", t.ALGORITHM),
                *columns("compared", "reproduced", format=t.COUNT),
                *columns(*extra, format=t.COUNT, drop=t.DETAIL),
                Column("wrong, median", Format(lambda value: f"{value:.1f}".removesuffix(".0"))),
                Column("wrong, best", MOST_WRONG),
            ),
            rows,
            " ".join(lines),
        )


@table("Evidence", 41)
def blind_matching(report: Report) -> Table:
    found, joint = report.identification, joint_verdicts(report.judgements)
    cells: dict[str, list[NamedRow]] = {}
    for (_, row), named in found.cells.items():
        cells.setdefault(row, []).append(named)
    compared = Counter(row for _, row in joint)
    together = Counter(row for (_, row), verdict in joint.items() if verdict == REPRODUCED)
    rows = []
    for each in found.rows:
        match = each.named if each.is_right else f"{each.named} (wrong)"
        matched = f"{sum(cell.is_right for cell in cells[each.row])} of {len(cells[each.row])}"
        jointly = f"{together[each.row]} of {compared[each.row]}"
        rows.append((each.row, match, each.margin, matched, jointly))
    shown = (
        *columns("row", "best match", format=t.ALGORITHM),
        Column("margin", t.number(1, "+")),
        *columns("cells matched", "jointly reproduced", format=t.RIGHT),
    )
    return Table("Blind matching of the paper's rows", shown, rows, MATCHING_NOTE)


def claim_data(report: Report) -> Mapping[str, Any]:
    return {"claims": [{**vars(claim), "by_chance": report.chance_of(claim)} for claim in report.claims]}


@table("Claims", 170, data=claim_data)
def claims(report: Report) -> Table:
    rows = []
    for claim in report.claims:
        found, other = claim.evidence, len(claim.other_size)
        if other:
            found += f"; the size of our data differs from the paper's on {other} of {len(claim.datasets)}"
        outcomes = claim.verdict, claim.own_verdict, report.chance_of(claim)
        rows.append((claim.text, claim.where, *outcomes, found))
    shown = (
        Column("claim"),
        Column("where", drop=t.PAPER),
        Column("here", t.VERDICT),
        Column("in its own table", t.VERDICT, t.DETAIL),
        Column("by chance", t.PERCENT, t.DETAIL),
        Column("evidence here"),
    )
    return Table("Claims of the paper", shown, rows, f"{_describe_chance(report)} {CLAIMS_NOTE}".strip())


def _describe_chance(report: Report) -> str:
    tried = {claim.id: claim for claim in report.claims if claim.id in report.claim_chances}
    if not tried:
        return ""
    held = sum(claim.verdict == HOLDS for claim in tried.values())
    expected = sum(report.claim_chances[id][HOLDS] / report.claim_chances[id].total() for id in tried)
    holding = f"{held} {'holds' if held == 1 else 'hold'}; by chance {expected:.1f} would"
    return f"Of {count(len(tried), 'claim')} tried with the wrong learners, {holding}."
