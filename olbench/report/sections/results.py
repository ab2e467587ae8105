"""The results: one table per data set, our numbers beside the paper's."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from olbench.quantities import SECONDS, Quantity
from olbench.report.grid import DETAIL, PAPER, TIME, Box, Column, Grid, boxes, left, right, short
from olbench.report.model import Report, Row
from olbench.report.results import Entry
from olbench.report.sections import Section, register
from olbench.report.verdicts import LEANS_MEANING, LETTERS, NOT_COMPARABLE, Judgement

SHARED_NOTE = (
    "Times in brackets were measured while other trials ran, so they are not comparable; `olbench run "
    "--timing exclusive` measures each trial alone."
)


def bold_note(report: Report) -> str:
    """Return what bold means."""
    return (
        f"* or bold: the {report.headline.best} mean {report.headline.title}, and all not significantly "
        f"different from it (paired t-test over the shared {report.results.numbered}s, 95%)."
    )


def settings(entry: Entry) -> str:
    """Return the chosen parameters and settings, and any warnings."""
    chosen = {**(entry.params or {}), **entry.setting}
    notes = [", ".join(f"{name}={short(value)}" for name, value in chosen.items())]
    flags = [each.title for each in entry.protocol.recorded if each.flag]
    if entry.flagged:
        notes.append(f"{' or '.join(flags)} in {entry.flagged} of {entry.done}")
    return "; ".join(note for note in notes if note)


def is_time(quantity: Quantity) -> bool:
    """Tell whether a quantity is a time, which other running trials lengthen."""
    return quantity.name == SECONDS.name


def parts(report: Report) -> Iterator[Grid]:
    """Yield one table per data set; a note below the last one explains the marks."""
    datasets = list(dict.fromkeys(row.entry.dataset for row in report.rows))
    alone = all(row.entry.exclusive for row in report.rows)
    timed = any(is_time(quantity) for quantity in report.protocol.quantities)
    note = bold_note(report) + ("" if alone or not timed else f" {SHARED_NOTE}")
    for dataset in datasets:
        rows = report.block(dataset)
        body = tuple(_boxes(row, report) for row in rows)
        last = dataset == datasets[-1]
        yield Grid(title(report, dataset), _columns(rows, report), body, note if last else "")


def title(report: Report, dataset: str) -> str:
    """Return the data set with its size and, if the paper reports it, the table."""
    facts = report.results.run.data.get(dataset)
    name = f"{dataset} ({facts.rows:,} × {facts.features:,})" if facts else dataset
    numbers = report.paper.numbers if report.paper else ()
    wheres = dict.fromkeys(each.where.partition(",")[0] for each in numbers if each.dataset == dataset)
    return f"{', '.join(wheres)}: {name}" if wheres else name


def _columns(rows: list[Row], report: Report) -> tuple[Column, ...]:
    columns = left("algorithm")
    for quantity in report.protocol.quantities:
        if is_time(quantity):
            alone = all(row.entry.exclusive for row in rows)
            columns += right(quantity.title if alone else f"({quantity.title}, shared)", drop=TIME)
        else:
            columns += right(quantity.title)
    columns += left("parameters", optional=True, drop=DETAIL)
    for place, quantity in enumerate(report.judged):
        columns += right(f"{'' if place else 'paper: '}{quantity.title}", drop=PAPER)
    if report.time_ratios:
        columns += right("seconds / ours", optional=True, drop=PAPER)
    return columns


def _boxes(row: Row, report: Report) -> tuple[Box, ...]:
    ours = [Box(row.entry.label)]
    for quantity in report.protocol.quantities:
        bold = row.bold and quantity is report.headline
        ours.append(Box(time_text(row, quantity) if is_time(quantity) else spread_text(row, quantity), bold))
    judged = [_judged_text(row.judgements.get(quantity.name)) for quantity in report.judged]
    ratio = [_ratio_text(row, report)] if report.time_ratios else []
    return (*ours, *boxes(settings(row.entry), *judged, *ratio))


def spread_text(row: Row, quantity: Quantity) -> str:
    """Return mean and deviation of a quantity."""
    return quantity.spread(*row.spreads[quantity.name])


def time_text(row: Row, quantity: Quantity) -> str:
    """Return the time of a trial, in brackets unless it was measured alone."""
    mean, deviation = row.spreads[quantity.name]
    digits = quantity.digits if mean < 1 else quantity.digits - 1
    text = f"{quantity.text(mean, digits)} ± {quantity.text(deviation, digits)}"
    return text if row.entry.exclusive else f"({text})"


def _ratio_text(row: Row, report: Report) -> str:
    """Return the paper's seconds divided by ours, in brackets unless ours were measured alone."""
    ratio = report.time_ratios.get((row.entry.dataset, row.entry.label))
    judgement = row.judgements.get(report.headline.name)
    if ratio is None or judgement is None or judgement.verdict == NOT_COMPARABLE:
        return ""
    return f"{ratio:,.0f}" if row.entry.exclusive else f"({ratio:,.0f})"


def _judged_text(judgement: Judgement | None) -> str:
    return f"{judgement.reported.printed} {judgement.letter}" if judgement else ""


def data(report: Report) -> Mapping[str, Any]:
    """Return one object per row."""
    return {"rows": [_row_data(row, report) for row in report.rows]}


def _row_data(row: Row, report: Report) -> dict[str, Any]:
    entry, judged = row.entry, row.judgements
    headline = judged.get(report.headline.name)
    flags = {
        flag.name: int((entry.trials[flag.name] > 0).sum()) for flag in entry.protocol.recorded if flag.flag
    }
    return {
        "dataset": entry.dataset,
        "algorithm": entry.algorithm,
        "label": entry.label,
        "params": entry.params,
        "setting": dict(entry.setting),
        "options": entry.options,
        f"{entry.protocol.numbered}s": entry.done,
        **{name: dict(zip(("mean", "std"), spread, strict=True)) for name, spread in row.spreads.items()},
        "timing": row.timing,
        "best": row.bold,
        **flags,
        "reported": {name: reported_data(each) for name, each in judged.items()} or None,
        "verdict": headline.verdict if headline else None,
        "verdicts": {name: each.verdict for name, each in judged.items()} or None,
    }


def reported_data(judgement: Judgement) -> dict[str, Any]:
    """Return a reported number as JSON has it."""
    number = judgement.reported
    return {"mean": number.mean, "deviation": number.deviation, "half_unit": number.half_unit}


def flat_records(report: Report) -> list[dict[str, Any]]:
    """Return one flat record per row, in full precision, for CSV."""
    return [_flat(row, report) for row in report.rows]


def _flat(row: Row, report: Report) -> dict[str, Any]:
    entry = row.entry
    record: dict[str, Any] = {
        "dataset": entry.dataset,
        "algorithm": entry.algorithm,
        "label": entry.label,
        "params": settings(entry),
        f"{entry.protocol.numbered}s": entry.done,
        "best": row.bold,
        "timing": row.timing,
    }
    for name, spread in row.spreads.items():
        record[f"{name}_mean"], record[f"{name}_std"] = spread
    for quantity in entry.protocol.judged:
        judgement = row.judgements.get(quantity.name)
        record[f"reported_{quantity.name}_mean"] = judgement.reported.mean if judgement else None
        record[f"reported_{quantity.name}_std"] = judgement.reported.deviation if judgement else None
        record[f"{quantity.name}_verdict"] = judgement.verdict if judgement else None
    return record


def page(report: Report) -> Mapping[str, Any]:
    """Return the rows, with everything that the page sorts, filters and shows."""
    kinds = {row.entry.exclusive for row in report.rows}
    timing = "mixed" if len(kinds) > 1 else "exclusive" if kinds == {True} else "shared"
    rows = [_row_page(row, report) for row in report.rows]
    return {
        "rows": rows,
        "datasets": list(dict.fromkeys(row.entry.dataset for row in report.rows)),
        "quantities": [_quantity_page(each, report, rows) for each in report.protocol.quantities],
        "notes": notes(report),
        "timing": timing,
        "bold": bold_note(report).removeprefix("* or bold: "),
        "wheres": list(report.paper.tables) if report.paper and report.judgements else [],
        "numbered": report.protocol.numbered,
        "ratios": bool(report.time_ratios),
    }


def notes(report: Report) -> list[str]:
    """Return what a reader must know of some rows before their numbers, one sentence per data set."""
    flags = " or ".join(each.title for each in report.protocol.recorded if each.flag)
    found = []
    for dataset in report.results.datasets:
        rows = [row.entry for row in report.block(dataset) if row.entry.flagged]
        listed = ", ".join(f"{entry.label} in {entry.flagged} of {entry.done}" for entry in rows)
        found += [f"{dataset}: {flags} of {listed} {report.protocol.numbered}s."] if rows else []
    return found


def _quantity_page(quantity: Quantity, report: Report, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the page says of a quantity; the widths are the most letters of a deviation."""
    judgements = [row["judgements"][quantity.name] for row in rows]
    printed = [each["printed"][1:] for each in judgements if each]
    return {
        "width": max((len(row["spreads"][quantity.name]["texts"][1]) for row in rows), default=0),
        "paper_width": max((len(text) for texts in printed for text in texts), default=0),
        "name": quantity.name,
        "title": quantity.title[0].upper() + quantity.title[1:],
        "judged": quantity in report.judged,
        "time": is_time(quantity),
    }


def _row_page(row: Row, report: Report) -> dict[str, Any]:
    entry = row.entry
    quantities = report.protocol.quantities
    return {
        "dataset": entry.dataset,
        "label": entry.label,
        "params": settings(entry),
        "done": entry.done,
        "planned": entry.planned,
        "spreads": {
            each.name: {
                "value": row.spreads[each.name][0],
                "texts": spread_texts(each, row.spreads[each.name]),
            }
            for each in quantities
        },
        "timing": row.timing,
        "bold": row.bold,
        "judged": bool(row.judgements),
        "judgements": {
            each.name: judgement_page(row.judgements.get(each.name), report) for each in quantities
        },
        # A ratio of times tells how the machines differ; it is shown, never judged.
        "time_ratio": report.time_ratios.get((entry.dataset, entry.label)),
    }


def spread_texts(quantity: Quantity, spread: tuple[float, float]) -> tuple[str, str]:
    """Return mean and deviation as separate texts; a short time has two digits that say something."""
    digits = quantity.digits
    if is_time(quantity) and 0 < spread[0] < 10.0**-digits * 10:
        digits = min(7, 1 - math.floor(math.log10(spread[0])))
    return quantity.text(spread[0], digits), quantity.text(spread[1], digits)


def group_digits(printed: str) -> str:
    """Return a number as a paper prints it, with thousands apart.

    >>> group_digits("1170.30"), group_digits("0.218"), group_digits("12,5")
    ('1,170.30', '0.218', '12,5')
    """
    whole, point, rest = printed.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isascii() and whole.isdigit() else printed


def judgement_page(judgement: Judgement | None, report: Report) -> dict[str, Any] | None:
    """Return a judgement for the page: the verdict, and both numbers in words."""
    if judgement is None:
        return None
    quantity = report.protocol.quantity(judgement.quantity)
    lines = [f"{judgement.dataset}, {judgement.label}, {quantity.title}: {judgement.verdict}"]
    if judgement.mean is not None:
        spread = "" if judgement.deviation is None else f" ± {quantity.text(judgement.deviation)}"
        lines.append(f"ours {quantity.text(judgement.mean)}{spread}")
    lines.append(f"reported {judgement.reported.printed} ({judgement.where})")
    if judgement.difference is not None:
        z = "" if judgement.z is None else f", z = {judgement.z:.1f}"
        lines.append(f"difference {quantity.text(judgement.difference, sign='+')}{z}")
    if judgement.basis == "binomial":
        lines.append("compared in standard errors: the paper prints no deviation")
    lines += [f"{judgement.verdict} {LEANS_MEANING}"] if judgement.leans else []
    lines += [judgement.reason] if judgement.reason else []
    printed = [group_digits(text) for text in judgement.reported.printed.split(" ± ")]
    return {
        "dataset": judgement.dataset,
        "label": judgement.label,
        "verdict": judgement.verdict,
        "letter": judgement.letter,
        "rank": list(LETTERS).index(judgement.verdict),
        "reported": judgement.reported.mean,
        "printed": printed,
        "words": "\n".join(lines),
    }


register(Section("results", "Results", parts, data=data, page=page))
