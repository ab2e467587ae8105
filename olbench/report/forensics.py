"""The findings of forensics as a table, and as plain values for JSON."""

from collections.abc import Mapping
from typing import Any

from olbench.analysis.forensics import COMPARED, Finding, Inquiry, Setting, Spread
from olbench.analysis.published import Reported
from olbench.errors import count
from olbench.report.document import Document, Section
from olbench.report.table import RIGHT, Column, Part, Table, columns, show_settings

COLUMNS = (
    *columns("data set", "algorithm"),
    Column("reported", RIGHT),
    *columns("reached by", "setting"),
    Column("result", RIGHT),
    *columns("tuner's pick", "pick reaches it"),
)


def describe(inquiries: list[Inquiry]) -> str:
    reached = sum(bool(inquiry.reached) for inquiry in inquiries)
    tuned = sum(inquiry.shown.by_tuning for inquiry in inquiries)
    variants = sum(inquiry.only_variant for inquiry in inquiries)
    wide = sum(inquiry.only_wide for inquiry in inquiries)
    return (
        f"{reached} of {count(len(inquiries), 'pair')} reached by some setting ({variants} only by a "
        f"variant, {wide} only by our spread); {tuned} by the tuner's pick; "
        f"{len(inquiries) - reached} by no setting"
    )


def _row(inquiry: Inquiry) -> tuple[str, ...]:
    target, shown = inquiry.target, inquiry.shown
    nearest = shown.settings[0]
    observed = nearest.observed
    reached = ", ".join(f"{each.variant or 'plain'} ({len(each.consistent)})" for each in inquiry.reached)
    before = "" if inquiry.reached else f"nearest: {shown.variant} " if shown.variant else "nearest: "
    notes = ["by our spread"] if nearest.wide else []
    if observed.broken:
        notes.append(f"breakdowns in {observed.broken} of {observed.permutations}")
    return (
        *(target.dataset, target.row, _spreads_text(target.numbers)),
        f"only {reached}" if inquiry.only_variant else reached or "none",
        before + show_settings(nearest.params),
        _spreads_text(observed.spreads) + (f" ({', '.join(notes)})" if notes else ""),
        show_settings(shown.chosen) if shown.chosen is not None else "none",
        "yes" if shown.by_tuning else "no",
    )


def _spreads_text(values: Mapping[str, Spread] | Mapping[str, Reported]) -> str:
    texts = []
    for each in COMPARED:
        value, digits = values[each.name], each.digits if each.digits < 2 else each.digits - 1
        texts.append(f"{each.text(value.mean, digits)} ± {each.text(value.deviation or 0.0, digits)}")
    return ", ".join(texts)


def findings_document(inquiries: list[Inquiry]) -> Document:
    title = "Settings that reach the reported mistakes and updates"
    parts: list[Part] = [Table(title, COLUMNS, [*map(_row, inquiries)]), describe(inquiries)]
    return Document(
        "Forensics",
        parts=lambda: parts,
        sections=lambda: [Section("Findings", parts)],
        content=lambda: content(inquiries),
    )


def content(inquiries: list[Inquiry]) -> dict[str, Any]:
    rows = [
        {
            "dataset": inquiry.target.dataset,
            "algorithm": inquiry.target.row,
            "where": inquiry.target.where,
            "reported": {each.name: _spread(inquiry.target.numbers[each.name]) for each in COMPARED},
            "reached": bool(inquiry.reached),
            "only_variant": inquiry.only_variant,
            "findings": [_finding(finding) for finding in inquiry.findings],
        }
        for inquiry in inquiries
    ]
    return {"summary": describe(inquiries), "rows": rows}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "variant": finding.variant,
        "data": finding.candidate.source.name,
        "algorithm": finding.candidate.spec.id,
        "options": dict(finding.candidate.spec.options),
        "screened": len(finding.candidate.settings),
        "consistent": len(finding.consistent),
        "chosen": finding.chosen,
        "chosen_consistent": finding.by_tuning,
        "picks": dict(finding.picks),
        "settings": [_setting(setting, finding) for setting in finding.settings],
    }


def _setting(setting: Setting, finding: Finding) -> dict[str, Any]:
    observed = setting.observed
    return {
        "params": dict(setting.params),
        "permutations": observed.permutations,
        **{each.name: _spread(observed.spreads[each.name]) for each in COMPARED},
        "distance": round(setting.distance, 4),
        "consistent": setting.consistent,
        "by_our_spread": setting.wide,
        "broken": observed.broken,
        "chosen": setting.params == finding.chosen,
    }


def _spread(value: Spread | Reported) -> dict[str, float]:
    return {"mean": round(value.mean, 8), "std": round(value.deviation or 0.0, 8)}
