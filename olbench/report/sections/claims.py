"""The paper's claims, checked on this run and on the paper's own numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.report.grid import DETAIL, PAPER, Grid, boxes, left
from olbench.report.model import Report
from olbench.report.sections import Section, register


def applies(report: Report) -> bool:
    """Return whether the paper makes claims."""
    return bool(report.claims)


def parts(report: Report) -> Iterator[Grid]:
    """Yield the claims with our verdict and the one on the paper's own numbers."""
    rows = tuple(boxes(c.text, c.where, c.verdict, c.own_verdict, c.evidence) for c in report.claims)
    columns = left("claim") + left("where", drop=DETAIL) + left("here")
    columns += left("in its own table", drop=PAPER) + left("evidence here")
    yield Grid("Claims of the paper", columns, rows)


def data(report: Report) -> Mapping[str, Any]:
    """Return every claim with its verdicts."""
    return {"claims": [vars(claim) for claim in report.claims]}


register(Section("claims", "Claims", parts, applies, data, page=data))
