"""The paper's claims, checked on this run and on the paper's own numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.analysis.claims import DERANGED, HOLDS, ClaimVerdict
from olbench.report.grid import DETAIL, PAPER, Grid, boxes, count, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register

NOTE = (
    "By chance: how often the claim comes out as well or better if every algorithm gets the results of "
    f"another one (all derangements, or {DERANGED} random ones). Not significant: the run neither bears it "
    "out nor contradicts it significantly. Reversed: the opposite is significant on at least half of the "
    "data sets, and on more than the claim is true on. Tests are conditional on each data set, and not "
    "corrected for their number."
)


def parts(report: Report) -> Iterator[Grid]:
    rows = []
    for claim in report.claims:
        share = report.chance_of(claim)
        chance = "" if share is None else f"{share:.0%}"
        about = (claim.text, claim.where, claim.verdict, claim.own_verdict)
        rows.append(boxes(*about, chance, _evidence(claim)))
    columns = left("claim") + left("where", drop=DETAIL) + left("here")
    columns += left("in its own table", drop=PAPER) + right("by chance", drop=DETAIL) + left("evidence here")
    yield Grid("Claims of the paper", columns, rows, f"{describe_chance(report)} {NOTE}".strip())


def describe_chance(report: Report) -> str:
    tried = {claim.id: claim for claim in report.claims if claim.id in report.claim_chances}
    if not tried:
        return ""
    held = sum(claim.verdict == HOLDS for claim in tried.values())
    expected = sum(report.claim_chances[id][HOLDS] / report.claim_chances[id].total() for id in tried)
    holding = f"{held} {'holds' if held == 1 else 'hold'}; by chance {expected:.1f} would"
    return f"Of {count(len(tried), 'claim')} tried with wrong learners, {holding}."


def _evidence(claim: ClaimVerdict) -> str:
    other = len(claim.other_size)
    if not other:
        return claim.evidence
    return f"{claim.evidence}; data of another size than the paper's on {other} of {len(claim.datasets)}"


def data(report: Report) -> Mapping[str, Any]:
    return {"claims": [{**vars(claim), "by_chance": report.chance_of(claim)} for claim in report.claims]}


register(Section("claims", "Claims", 170, parts, lambda report: report.claims, data, page=data))
