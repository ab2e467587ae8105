"""The findings of `olbench check` in four formats, and the statement of `olbench verify`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from olbench import __version__
from olbench.analysis.check import BETTER, WORSE, Comparison, Remark
from olbench.engine.verification import VerifiedRun
from olbench.errors import count
from olbench.records import provenance

MAX_LINES = 20
#: The version of the statement of a verification.
SCHEMA = 2


def render_text(comparison: Comparison) -> str:
    lines = []
    harmless = [finding for finding in comparison.findings if not comparison.is_failure(finding)]
    for found in (comparison.changes, harmless):
        lines += [finding.message for finding in found[:MAX_LINES]]
        if len(found) > MAX_LINES:
            lines.append(f"... and {len(found) - MAX_LINES} more")
    return "\n".join([*lines, _summary(comparison)]) + "\n"


def _summary(comparison: Comparison) -> str:
    line = f"{count(comparison.compared, 'count')} compared, {comparison.changed} changed"
    counts = {kind: comparison.count(kind) for kind in (WORSE, BETTER, "missing")}
    moved = [f"{n} {kind}" for kind, n in {**counts, "failed": len(comparison.failed)}.items() if n]
    return f"{line}; of the results, {', '.join(moved)}" if moved else line


def advise(comparison: Comparison, can_update: bool) -> str:
    if not comparison.changes or comparison.failed:
        return ""
    ways = ["--update writes the new counts"] if can_update else []
    if all(finding.kind == BETTER for finding in comparison.changes):
        ways.append("--allow-better accepts improvements")
    return f"if this is intended: {', or '.join(ways)}" if ways else ""


def render_json(comparison: Comparison) -> str:
    findings = [{**asdict(each), "fails": comparison.is_failure(each)} for each in comparison.findings]
    content = {
        "compared": comparison.compared,
        "changed": comparison.changed,
        "findings": findings,
        "failed": [
            {"dataset": dataset, "algorithm": algorithm, "error": error}
            for (dataset, algorithm), error in comparison.failed.items()
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def render_junit(comparison: Comparison, cells: Sequence[tuple[str, str]]) -> str:
    errors = comparison.failed
    found: dict[tuple[str, str], list[Remark]] = {place: [] for place in cells}
    for finding in comparison.changes:
        found.setdefault((finding.dataset, finding.algorithm), []).append(finding)
    suite = ElementTree.Element("testsuite", name="olbench check")
    for dataset, algorithm in dict.fromkeys((*found, *errors)):
        about = dataset or "run", algorithm or ("the data" if dataset else "the run")
        named = dict(zip(("classname", "name"), map(_clean, about), strict=True))
        case = ElementTree.SubElement(suite, "testcase", named)
        own = found.get((dataset, algorithm), [])
        causes = {each.kind for place in (("", ""), (dataset, "")) for each in found.get(place, [])}
        if causes and algorithm and not own:
            ElementTree.SubElement(case, "skipped", message=f"not compared: the {causes.pop()} changed")
        if own:
            message = "; ".join(_clean(finding.message) for finding in own)
            ElementTree.SubElement(case, "failure", type=own[0].kind, message=message)
        if (dataset, algorithm) in errors:
            ElementTree.SubElement(case, "error", message=_clean(errors[dataset, algorithm]))
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    suite.attrib |= {"tests": str(len(suite))}
    suite.attrib |= {name: str(len(suite.findall(f"*/{tag}"))) for name, tag in counted.items()}
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def render_github(comparison: Comparison, locate: Callable[[Remark], tuple[str, int]]) -> str:
    found = [(each, "error" if each.kind != BETTER else "warning") for each in comparison.changes]
    found += [(each, "notice") for each in comparison.findings if not comparison.is_failure(each)]
    for (dataset, algorithm), error in [*comparison.failed.items()][:MAX_LINES]:
        message = f"{algorithm} on {dataset} failed: {error}"
        found.append((Remark("failed", message, dataset, algorithm), "error"))
    lines = []
    for each, level in found:
        file, line = locate(each)
        place = f"file={_escape(file).replace(':', '%3A').replace(',', '%2C')},line={line}"
        lines.append(f"::{level} {place},title=olbench check::{_escape(each.message)}")
    return "\n".join([*lines, _summary(comparison)]) + "\n"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def make_statement(shown: VerifiedRun) -> dict[str, Any]:
    machine = provenance.machine()
    machine.pop("host", None)
    different = [
        {"key": each.record["key"], "trial": each.place, "quantity": each.name}
        | dict(zip(("recorded", "found"), each.values, strict=True))
        for each in shown.mismatches
    ]
    return {
        "schema": SCHEMA,
        "run": shown.digest,
        "olbench": __version__,
        "algorithms": dict(sorted({(record["algorithm"], record["code"]) for record in shown.drawn})),
        "versions": provenance.versions(),
        "machine": machine,
        "when": shown.when,
        "seed": shown.seed,
        "recorded": shown.recorded,
        "population": shown.population,
        "drawn": [record["key"] for record in shown.drawn],
        "same": shown.compared - shown.different,
        "different": different,
        "wrong_results": list(shown.wrong),
        "not_checked": ["times", *shown.unchecked],
        "not_rerun": {reason: len(records) for reason, records in shown.not_rerun.items()},
        "detectable": {"share": shown.share, "probability": shown.probability},
        "sentence": shown.sentence,
    }
