"""The results: one table per data set, our numbers beside the paper's."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olbench.analysis.results import Entry
from olbench.analysis.verdicts import BINOMIAL, NOT_COMPARABLE, Judgement
from olbench.errors import plural
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import SECONDS, Quantity
from olbench.report import grid, words
from olbench.report.grid import Box, Column, Grid, boxes, capitalise, left, list_settings, right
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.sections.costs import cost_columns, cost_texts

SHARED_NOTE = (
    "Times in brackets were measured while other trials ran, so they are not comparable; `olbench run "
    "--timing exclusive` measures each trial alone."
)


def bold_note(report: Report) -> str:
    return f"* or bold: {words.describe_best(report.results)}"


def settings(entry: Entry) -> str:
    notes = [list_settings({**(entry.params or {}), **entry.setting})]
    flags = [each.title for each in entry.protocol.recorded if each.flag]
    if entry.flagged:
        notes.append(f"{' or '.join(flags)} in {entry.flagged} of {entry.done}")
    return "; ".join(filter(None, notes))


def flagged_label(entry: Entry) -> str:
    return entry.label + (grid.FLAG if entry.flagged else "")


def flag_note(report: Report, entries: Sequence[Entry]) -> str:
    listed = [f"{entry.label} in {entry.flagged} of {entry.done}" for entry in entries if entry.flagged]
    if not listed:
        return ""
    first = next(entry for entry in entries if entry.flagged)
    flags = " or ".join(each.title.upper() for each in report.protocol.recorded if each.flag)
    return (
        f"{grid.FLAG.strip()} {flags} of {', '.join(listed)} {plural(report.results.numbered)}: what follows "
        f"one is a matter of rounding; `olbench verify RUN --trial {first.first_flagged}` says why."
    )


def is_time(quantity: Quantity) -> bool:
    return quantity.name == SECONDS.name


def parts(report: Report) -> Iterator[Grid]:
    timed = any(map(is_time, report.protocol.quantities))
    note = bold_note(report) + ("" if report.results.exclusive or not timed else f" {SHARED_NOTE}")
    others = left("parameters", optional=True, drop=grid.DETAIL)
    for place, quantity in enumerate(report.judged):
        others += right(f"{'' if place else 'paper: '}{quantity.title}", drop=grid.PAPER)
    others += right("seconds / ours", optional=True, drop=grid.PAPER) if report.time_ratios else ()
    others += cost_columns(report)
    blocks = {name: block for name in report.results.datasets if (block := report.block(name))}
    for dataset, block in blocks.items():
        rows = []
        for entry in block:
            more = [printed_text(report, entry, quantity) for quantity in report.judged]
            more += [_ratio_text(entry, report)] if report.time_ratios else []
            more += cost_texts(report, entry)
            rows.append(boxes(flagged_label(entry), *quantity_boxes(report, entry), settings(entry), *more))
        columns = left("algorithm") + quantity_columns(report, block) + others
        notes = flag_note(report, block), note if dataset == list(blocks)[-1] else ""
        facts = report.results.run.data.get(dataset)
        name = f"{dataset} ({facts.rows:,} × {facts.features:,})" if facts else dataset
        numbers = report.paper.numbers if report.paper else ()
        wheres = dict.fromkeys(each.where.partition(",")[0] for each in numbers if each.dataset == dataset)
        title = f"{', '.join(wheres)}: {name}" if wheres else name
        yield Grid(title, columns, rows, " ".join(filter(None, notes)))


def quantity_columns(report: Report, entries: Sequence[Entry]) -> tuple[Column, ...]:
    alone = all(entry.exclusive for entry in entries)
    columns: tuple[Column, ...] = ()
    for each in report.protocol.quantities:
        heading = f"{each.title} (shared)" if is_time(each) and not alone else each.title
        columns += right(heading, drop=grid.TIME if is_time(each) else grid.KEPT)
    return columns


def quantity_boxes(report: Report, entry: Entry) -> tuple[Box, ...]:
    best = report.results.is_best(entry)
    return tuple(
        Box(number_text(entry, each), best and each is report.headline) for each in report.protocol.quantities
    )


def number_text(entry: Entry, quantity: Quantity) -> str:
    mean, deviation = entry.spread(quantity)
    digits = 0 if quantity.whole and entry.planned == 1 else quantity.digits
    if is_time(quantity):
        digits -= mean >= 1
    elif entry.planned > 1:
        return quantity.spread(mean, deviation)
    text = quantity.text(mean, digits)
    if entry.planned > 1:
        text = f"{text} ± {quantity.text(deviation, digits)}"
    if not is_time(quantity):
        return text
    return text if entry.exclusive else f"({text})"


def _ratio_text(entry: Entry, report: Report) -> str:
    ratio = report.time_ratios.get((entry.dataset, entry.label))
    judgement = report.judgements_of(entry).get(report.headline.name)
    if ratio is None or judgement is None or judgement.verdict == NOT_COMPARABLE:
        return ""
    return f"{ratio:,.0f}" if entry.exclusive else f"({ratio:,.0f})"


def printed_text(report: Report, entry: Entry, quantity: Quantity) -> str:
    judgement = report.judgements_of(entry).get(quantity.name)
    return f"{judgement.reported.printed} {words.letter(judgement)}" if judgement else ""


def data(report: Report) -> Mapping[str, Any]:
    return {"rows": [_row_data(entry, report) for entry in report.rows]}


def _row_data(entry: Entry, report: Report) -> dict[str, Any]:
    judged = report.judgements_of(entry)
    headline = judged.get(report.headline.name)
    flags = [each.name for each in entry.protocol.recorded if each.flag]
    spreads = {each.name: entry.spread(each) for each in report.protocol.quantities}
    return {
        "dataset": entry.dataset,
        "algorithm": entry.algorithm,
        "label": entry.label,
        "params": entry.params,
        "setting": dict(entry.setting),
        "options": entry.options,
        plural(entry.protocol.numbered): entry.done,
        **{
            name: {"mean": mean, "std": deviation if entry.planned > 1 else None}
            for name, (mean, deviation) in spreads.items()
        },
        "timing": entry.timing,
        "costs": dict(vars(report.results.costs(entry))),
        "best": report.results.is_best(entry),
        **{name: int((entry.columns[name] > 0).sum()) for name in flags},
        "reported": {name: each.reported_data for name, each in judged.items()} or None,
        "verdict": headline.verdict if headline else None,
        "verdicts": {name: each.verdict for name, each in judged.items()} or None,
    }


def flat_records(report: Report) -> list[dict[str, Any]]:
    records = []
    for entry in report.rows:
        record: dict[str, Any] = {
            "dataset": entry.dataset,
            "algorithm": entry.algorithm,
            "label": entry.label,
            "params": settings(entry),
            plural(entry.protocol.numbered): entry.done,
            "best": report.results.is_best(entry),
            "timing": entry.timing,
        }
        for quantity in report.protocol.quantities:
            record[f"{quantity.name}_mean"], record[f"{quantity.name}_std"] = entry.spread(quantity)
        record |= vars(report.results.costs(entry))
        for name in (each.name for each in entry.protocol.quantities if each.judged):
            judgement = report.judgements_of(entry).get(name)
            record[f"reported_{name}_mean"] = judgement.reported.mean if judgement else None
            record[f"reported_{name}_std"] = judgement.reported.deviation if judgement else None
            record[f"{name}_verdict"] = judgement.verdict if judgement else None
        records.append(record)
    return records


def page(report: Report) -> Mapping[str, Any]:
    kinds = {entry.timing for entry in report.rows}
    rows = [_row_page(entry, report) for entry in report.rows]
    return {
        "rows": rows,
        "datasets": list(dict.fromkeys(entry.dataset for entry in report.rows)),
        "quantities": [_quantity_page(each, report, rows) for each in report.protocol.quantities],
        "notes": notes(report),
        "single": all(entry.planned == 1 for entry in report.rows),
        "timing": "mixed" if len(kinds) > 1 else next(iter(kinds), "shared"),
    }


def notes(report: Report) -> list[str]:
    flags = " or ".join(each.title for each in report.protocol.recorded if each.flag)
    found = []
    for dataset in report.results.datasets:
        flagged = [entry for entry in report.block(dataset) if entry.flagged]
        listed = ", ".join(f"{entry.label} in {entry.flagged} of {entry.done}" for entry in flagged)
        found += [f"{dataset}: {flags} of {listed} {plural(report.protocol.numbered)}."] if flagged else []
    return found


def _quantity_page(quantity: Quantity, report: Report, rows: list[dict[str, Any]]) -> dict[str, Any]:
    judgements = [row["judgements"][quantity.name] for row in rows]
    printed = [text for each in judgements if each for text in each["printed"][1:]]
    return {
        "width": max((len(row["spreads"][quantity.name]["texts"][-1]) for row in rows), default=0),
        "paper_width": max(map(len, printed), default=0),
        "name": quantity.name,
        "title": capitalise(quantity.title),
        "judged": quantity in report.judged,
        "time": is_time(quantity),
    }


def _row_page(entry: Entry, report: Report) -> dict[str, Any]:
    quantities, judged = report.protocol.quantities, report.judgements_of(entry)
    return {
        "dataset": entry.dataset,
        "label": entry.label,
        "params": settings(entry),
        "done": entry.done,
        "planned": entry.planned,
        "spreads": {each.name: spread_page(each, entry) for each in quantities},
        "timing": entry.timing,
        "bold": report.results.is_best(entry),
        "judged": bool(judged),
        "judgements": {each.name: judgement_page(judged.get(each.name), report) for each in quantities},
        # A ratio of times tells how the machines differ; it is shown, never judged.
        "time_ratio": report.time_ratios.get((entry.dataset, entry.label)),
    }


def spread_page(quantity: Quantity, entry: Entry) -> dict[str, Any]:
    spread = entry.spread(quantity)
    digits = 0 if quantity.whole and entry.planned == 1 else quantity.digits
    if is_time(quantity) and 0 < spread[0] < 10.0**-digits * 10:
        digits = min(7, 1 - math.floor(math.log10(spread[0])))
    shown = spread if entry.planned > 1 else spread[:1]
    return {"value": spread[0], "texts": [quantity.text(number, digits) for number in shown]}


def group_digits(printed: str) -> str:
    """Return a number as a paper prints it, with thousands apart.

    >>> group_digits("1170.30"), group_digits("0.218"), group_digits("12,5")
    ('1,170.30', '0.218', '12,5')
    """
    whole, point, rest = printed.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isascii() and whole.isdigit() else printed


def judgement_page(judgement: Judgement | None, report: Report) -> dict[str, Any] | None:
    if judgement is None:
        return None
    quantity = find_quantity(report.protocol, judgement.quantity)
    lines = [f"{judgement.dataset}, {judgement.label}, {quantity.title}: {judgement.verdict}"]
    if judgement.mean is not None:
        spread = "" if judgement.deviation is None else f" ± {quantity.text(judgement.deviation)}"
        lines.append(f"ours {quantity.text(judgement.mean)}{spread}")
    lines.append(f"reported {judgement.reported.printed} ({judgement.where})")
    if judgement.difference is not None:
        z = "" if judgement.z is None else f", z = {judgement.z:.1f}"
        lines.append(f"difference {quantity.text(judgement.difference, sign='+')}{z}")
    if judgement.basis == BINOMIAL:
        lines.append("compared in standard errors: the paper prints no deviation")
    lines += [f"{judgement.verdict} {words.LEANS_MEANING}"] if judgement.leans else []
    lines += [judgement.reason] if judgement.reason else []
    printed = [group_digits(text) for text in judgement.reported.printed.split(" ± ")]
    return {
        "dataset": judgement.dataset,
        "label": judgement.label,
        "verdict": judgement.verdict,
        "letter": words.letter(judgement),
        "rank": list(words.LETTERS).index(judgement.verdict),
        "reported": judgement.reported.mean,
        "printed": printed,
        "words": "\n".join(lines),
    }


register(Section("results", "Results", 80, parts, data=data, page=page))
