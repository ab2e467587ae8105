"""The findings of forensics as a table of text or Markdown, as CSV and as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from olbench.experiments.consistency import Spread
from olbench.experiments.forensics import Case, Finding, Setting, summary
from olbench.papers import Reported
from olbench.report.data import write_csv
from olbench.report.grid import Grid, cells, left
from olbench.report.tables import short

HEADINGS = (
    "data set", "row", "reported", "reached by", "setting", "with it", "the tuner picks", "reaches it"
)  # fmt: skip


def sections(cases: list[Case]) -> list[Grid | str]:
    """Return a table with a row for each reported cell, and the summary."""
    rows = tuple(cells(*_row(case)) for case in cases)
    return [Grid("What reaches the reported mistakes and updates", left(*HEADINGS), rows), summary(cases)]


def _row(case: Case) -> tuple[str, ...]:
    shown = case.shown
    nearest = shown.settings[0]
    return (
        case.reported.dataset,
        case.reported.algorithm,
        _pair(case.reported.mistake_rate, case.reported.updates),
        reached_by(case),
        ("" if case.reached else _nearest(shown)) + setting_text(nearest.params),
        _pair(nearest.pair.mistake_rate, nearest.pair.updates) + notes(nearest),
        setting_text(shown.chosen) if shown.chosen is not None else "nothing",
        "yes" if shown.by_tuning else "no",
    )


def reached_by(case: Case) -> str:
    """Return who reaches a cell and with how many settings: "plain (3), scw2-libol (1)"."""
    if not case.reached:
        return "none"
    names = ", ".join(f"{finding.variant or 'plain'} ({len(finding.consistent)})" for finding in case.reached)
    return f"only {names}" if case.only_variant else names


def _nearest(finding: Finding) -> str:
    return f"nearest: {finding.variant} " if finding.variant else "nearest: "


def notes(setting: Setting) -> str:
    """Return what has to be said beside a pair."""
    words = []
    if setting.wide:
        words.append("by our spread")
    if setting.pair.broken:
        words.append(f"BREAKDOWNS in {setting.pair.broken} of {setting.pair.permutations}")
    return f" ({', '.join(words)})" if words else ""


def setting_text(params: Mapping[str, Any] | None) -> str:
    """Return parameters as C=1, eta=0.9."""
    return ", ".join(f"{name}={short(value)}" for name, value in (params or {}).items())


def _pair(rate: Spread | Reported, updates: Spread | Reported) -> str:
    return f"{rate.mean:.3f} ± {rate.deviation:.3f}, {updates.mean:.1f} ± {updates.deviation:.1f}"


def as_csv(cases: list[Case]) -> str:
    """Return a line for each setting that was run in full."""
    lines = [
        {"dataset": case.reported.dataset, "algorithm": case.reported.algorithm, "variant": finding.variant,
         **_flat(_setting(setting, finding))}
        for case in cases for finding in case.findings for setting in finding.settings
    ]  # fmt: skip
    return write_csv(lines)


def _flat(content: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if name == "params":
            flat[name] = setting_text(value)
        elif isinstance(value, dict):
            flat |= {f"{name}_{key}": number for key, number in value.items()}
        else:
            flat[name] = value
    return flat


def as_json(cases: list[Case]) -> str:
    """Return everything that was found."""
    return json.dumps(content(cases), indent=1) + "\n"


def content(cases: list[Case]) -> dict[str, Any]:
    """Return everything that was found as plain values."""
    return {"summary": summary(cases), "rows": [_case(case) for case in cases]}


def _case(case: Case) -> dict[str, Any]:
    reported = case.reported
    return {
        "dataset": reported.dataset,
        "algorithm": reported.algorithm,
        "where": reported.where,
        "reported": {"mistake_rate": _spread(reported.mistake_rate), "updates": _spread(reported.updates)},
        "reached": bool(case.reached),
        "only_variant": case.only_variant,
        "findings": [_finding(finding) for finding in case.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "variant": finding.variant,
        "data": finding.suspect.source.name,
        "algorithm": finding.suspect.spec.id,
        "options": dict(finding.suspect.spec.options),
        "screened": len(finding.suspect.settings),
        "consistent": len(finding.consistent),
        "chosen": finding.chosen,
        "chosen_consistent": finding.by_tuning,
        "picks": dict(finding.picks),
        "settings": [_setting(setting, finding) for setting in finding.settings],
    }


def _setting(setting: Setting, finding: Finding) -> dict[str, Any]:
    pair = setting.pair
    return {
        "params": dict(setting.params),
        "permutations": pair.permutations,
        "mistake_rate": _spread(pair.mistake_rate),
        "updates": _spread(pair.updates),
        "distance": round(setting.distance, 4),
        "consistent": setting.consistent,
        "by_our_spread": setting.wide,
        "broken": pair.broken,
        "chosen": setting.params == finding.chosen,
    }


def _spread(value: Spread | Reported) -> dict[str, float]:
    return {"mean": round(value.mean, 8), "std": round(value.deviation, 8)}
