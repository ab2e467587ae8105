"""The paper's claims, checked on this run and on the paper's own numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.report.claims import DERANGED, ClaimVerdict
from olbench.report.grid import DETAIL, PAPER, Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register

NOTE = (
    f"By chance: in how many of {DERANGED} random derangements, where every algorithm gets the results of "
    "another one, the claim holds as well. Not significant: not true here, but its opposite is not "
    "significant either. Reversed: the opposite is significant on at least half of the data sets."
)


def applies(report: Report) -> bool:
    """Return whether the paper makes claims."""
    return bool(report.claims)


def parts(report: Report) -> Iterator[Grid]:
    """Yield the claims with our verdict, the one on the paper's own numbers, and the control."""
    rows = tuple(
        boxes(c.text, c.where, c.verdict, c.own_verdict, _share(report, c.id), _evidence(c))
        for c in report.claims
    )
    columns = left("claim") + left("where", drop=DETAIL) + left("here")
    columns += left("in its own table", drop=PAPER) + right("by chance", drop=DETAIL) + left("evidence here")
    yield Grid("Claims of the paper", columns, rows, NOTE)


def _evidence(claim: ClaimVerdict) -> str:
    """Return the evidence, and on how much other data than the paper's it rests."""
    other = len(claim.other_size)
    if not other:
        return claim.evidence
    return f"{claim.evidence}; data of another size than the paper's on {other} of {len(claim.datasets)}"


def _share(report: Report, claim: str) -> str:
    share = report.claim_controls.get(claim)
    return "" if share is None else f"{share:.0%}"


def data(report: Report) -> Mapping[str, Any]:
    """Return every claim with its verdicts, and how often it would hold by chance."""
    chances = report.claim_controls
    return {"claims": [{**vars(claim), "by_chance": chances.get(claim.id)} for claim in report.claims]}


register(Section("claims", "Claims", parts, applies, data, page=data))
