"""What the verdicts prove: wrong learners in the same rows, and rows that name their learner blind."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from olbench.analysis.evidence import UNEXPLAINED, NamedRow, WrongLearners, joint_verdicts
from olbench.analysis.verdicts import DEVIATION
from olbench.records.quantities import REPRODUCED, Quantity
from olbench.report import words
from olbench.report.grid import DETAIL, Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register

DEVIATION_NOTE = (
    "By the paper's: reproduced even if our deviation, where it is the larger one, does not count. Same "
    "mean: a test in standard errors does not reject equal means at 5%; it is stricter, because it allows "
    "for other orders, but not for other parameters."
)
WRONG_NOTE = (
    "Wrong: what the other learners of the run would reproduce in this row. With wrong learners: the "
    "median and the range if every row of the paper gets the learner of another of its rows."
)
MATCHING_NOTE = (
    "Blind matching asks which learner of the run gives the printed means of a row the highest likelihood "
    "(normal, with the deviations of both sides and the rounding; one number in "
    f"{1 / UNEXPLAINED:.0f} may be anywhere). The margin is the log-likelihood above the best other learner; "
    "3 or more, a factor of 20, is decisive. Jointly reproduced: in every quantity that the paper prints for "
    "the cell."
)


def parts(report: Report) -> Iterator[Grid]:
    shown = [(quantity, found) for quantity, found in report.controls.items() if found.rows]
    for quantity, found in shown:
        yield control_grid(report, quantity, found, is_first=quantity is shown[0][0])
    if report.identification.rows:
        yield matching_grid(report)


def control_grid(report: Report, quantity: Quantity, found: WrongLearners, is_first: bool) -> Grid:
    judgements = [each for each in report.judgements if each.quantity == quantity.name and each.is_compared]
    # Without printed deviations, both columns would repeat the verdict.
    has_deviations = any(each.basis == DEVIATION for each in judgements)
    rows = []
    for row in found.rows:
        own = [each for each in judgements if each.algorithm == row.row]
        by_paper = sum(each.by_paper == REPRODUCED for each in own)
        same = sum(bool(each.is_same_mean) for each in own)
        more = (str(by_paper), str(same)) if has_deviations else ()
        best = f"{row.others[row.best]:.0f} ({row.best})" if row.best else ""
        median = f"{row.median:.1f}".removesuffix(".0")
        rows.append(boxes(row.row, str(row.total), str(row.reproduced), *more, median, best))
    lines = [f"In all, {words.describe_control(found)}."] if found.deranged else []
    if is_first:
        lines += [WRONG_NOTE, *([DEVIATION_NOTE] if has_deviations else [])]
    extra = right("by the paper's", "same mean", drop=DETAIL) if has_deviations else ()
    return Grid(
        f"What the verdicts on {quantity.counted} prove",
        (*left("row"), *right("compared", "reproduced"), *extra, *right("wrong, median", "wrong, best")),
        rows,
        " ".join(lines),
    )


def matching_grid(report: Report) -> Grid:
    found, joint = report.identification, joint_verdicts(report.judgements)
    cells: dict[str, list[NamedRow]] = {}
    for (_, row), named in found.cells.items():
        cells.setdefault(row, []).append(named)
    compared = Counter(row for _, row in joint)
    together = Counter(row for (_, row), verdict in joint.items() if verdict == REPRODUCED)
    rows = [
        boxes(
            each.row,
            each.named if each.is_right else f"{each.named} (wrong)",
            f"{each.margin:+.1f}",
            f"{sum(cell.is_right for cell in cells[each.row])} of {len(cells[each.row])}",
            f"{together[each.row]} of {compared[each.row]}",
        )
        for each in found.rows
    ]
    return Grid(
        "Blind matching of the paper's rows",
        (*left("row", "best match"), *right("margin", "cells matched"), *right("jointly reproduced")),
        tuple(rows),
        MATCHING_NOTE,
    )


def data(report: Report) -> Mapping[str, Any]:
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


register(Section("evidence", "Evidence", 40, parts, lambda report: report.printed_cells, data))
