"""Reports for programs: CSV and JSON."""

import csv
import io
import json
import math
from typing import Any

from olbench.papers import QUANTITIES
from olbench.report.build import Report, Row
from olbench.report.tables import settings
from olbench.report.verdicts import JUDGED, Judgement, summary
from olbench.stats import Across


def render_csv(report: Report) -> str:
    """Return Table 3 as CSV: a line a row, full precision, the reported numbers and verdicts beside ours."""
    records = [_flat(row) for row in report.rows]
    return write_csv(records)


def write_csv(records: list[dict[str, Any]]) -> str:
    """Return records of equal keys as CSV."""
    file = io.StringIO()
    if records:
        writer = csv.DictWriter(file, records[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return file.getvalue()


def _flat(row: Row) -> dict[str, Any]:
    entry = row.entry
    record: dict[str, Any] = {
        "dataset": entry.dataset,
        "algorithm": entry.algorithm,
        "label": entry.label,
        "params": settings(entry),
        "permutations": entry.done,
        "best": row.bold,
        "timing": row.timing,
    }
    for quantity in QUANTITIES:
        record[f"{quantity}_mean"], record[f"{quantity}_std"] = getattr(row, quantity)
    for quantity in JUDGED:
        judgement = row.judgements.get(quantity)
        record[f"reported_{quantity}_mean"] = judgement.reported.mean if judgement else None
        record[f"reported_{quantity}_std"] = judgement.reported.deviation if judgement else None
        record[f"{quantity}_verdict"] = judgement.verdict if judgement else None
    return record


def render_json(report: Report) -> str:
    """Return everything in the report as JSON."""
    results = report.results
    content = {
        "name": results.name,
        "paper": report.paper.id if report.paper else None,
        "made": report.made,
        "rows": [_row(row) for row in report.rows],
        "missing": results.missing,
        "summary": {quantity: summary(report.judgements, quantity) for quantity in JUDGED}
        if report.paper
        else None,
        "judgements": [_judgement(judgement) for judgement in report.judgements],
        "kendall_tau": report.taus,
        "claims": [vars(claim) for claim in report.claims],
        "within": {
            dataset: {"best": best, "differences": [vars(difference) for difference in differences]}
            for dataset, (best, differences) in report.within.items()
        },
        "across": _across(report.across),
        "run": {key: results.info.get(key) for key in ("config", "data", "seeds", "versions", "commit",
                                                       "dirty", "machine", "start", "end")},
    }  # fmt: skip
    return json.dumps(_finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(content: Any) -> Any:
    """Return plain values in which what is not a number is null: JSON has no NaN."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _row(row: Row) -> dict[str, Any]:
    entry = row.entry
    judged = row.judgements
    return {
        "dataset": entry.dataset,
        "algorithm": entry.algorithm,
        "label": entry.label,
        "params": entry.params,
        "options": entry.options,
        "permutations": entry.done,
        **{quantity: _spread(getattr(row, quantity)) for quantity in QUANTITIES},
        "timing": row.timing,
        "best": row.bold,
        "breakdowns": int((entry.trials["breakdowns"] > 0).sum()),
        "reported": {quantity: vars(judgement.reported) for quantity, judgement in judged.items()} or None,
        "verdict": judged["mistake_rate"].verdict if "mistake_rate" in judged else None,
        "verdicts": {quantity: judgement.verdict for quantity, judgement in judged.items()} or None,
    }


def _spread(values: tuple[float, float]) -> dict[str, float]:
    return dict(zip(("mean", "std"), values, strict=True))


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {**vars(judgement), "reported": vars(judgement.reported)}


def _across(found: Across | str) -> dict[str, Any] | str:
    if isinstance(found, str):
        return found
    return {**vars(found), "pairs": [vars(pair) for pair in found.pairs]}
