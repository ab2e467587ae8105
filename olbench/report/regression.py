"""What a check found, as text, JSON, JUnit XML and annotations of GitHub Actions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from olbench.analysis.check import BETTER, WORSE, Comparison, Remark
from olbench.errors import count
from olbench.records.trial import Record

MAX_LINES = 20


def render_text(comparison: Comparison, failed: Sequence[Record]) -> str:
    lines = []
    harmless = [finding for finding in comparison.findings if not comparison.is_failure(finding)]
    for found in (comparison.changes, harmless):
        lines += [finding.message for finding in found[:MAX_LINES]]
        if len(found) > MAX_LINES:
            lines.append(f"... and {len(found) - MAX_LINES} more")
    return "\n".join([*lines, _summary(comparison)]) + "\n"


def _summary(comparison: Comparison) -> str:
    line = f"{count(comparison.compared, 'count')} compared, {comparison.changed} changed"
    moved = [f"{number} {kind}" for kind in (WORSE, BETTER) if (number := comparison.count(kind))]
    return f"{line}; of the results, {' and '.join(moved)}" if moved else line


def advise(comparison: Comparison, can_update: bool) -> str:
    if not comparison.changes:
        return ""
    ways = ["--update writes the new counts"] if can_update else []
    if all(finding.kind == BETTER for finding in comparison.changes):
        ways.append("--allow-better accepts improvements")
    return f"if this is intended: {', or '.join(ways)}" if ways else ""


def render_json(comparison: Comparison, failed: Sequence[Record]) -> str:
    content: dict[str, Any] = {
        "compared": comparison.compared,
        "changed": comparison.changed,
        "findings": [
            {**asdict(finding), "fails": comparison.is_failure(finding)} for finding in comparison.findings
        ],
        "failed": [{name: record[name] for name in ("dataset", "algorithm", "error")} for record in failed],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def render_junit(comparison: Comparison, failed: Sequence[Record], cells: Sequence[tuple[str, str]]) -> str:
    suite = ElementTree.Element("testsuite", name="olbench check")
    by_place: dict[tuple[str, str], list[Remark]] = {place: [] for place in cells}
    for finding in comparison.changes:
        by_place.setdefault((finding.dataset, finding.algorithm), []).append(finding)
    errors = {(record["dataset"], record["algorithm"]): str(record["error"]) for record in failed}
    for place in errors:
        by_place.setdefault(place, [])
    failures = skipped = 0
    for (dataset, algorithm), findings in by_place.items():
        name = algorithm or ("the data" if dataset else "the run")
        about = {"classname": _clean(dataset or "run"), "name": _clean(name)}
        case = ElementTree.SubElement(suite, "testcase", about)
        causes = {finding.kind for place in (("", ""), (dataset, "")) for finding in by_place.get(place, [])}
        if causes and algorithm and not findings:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=f"not compared: the {causes.pop()} changed")
        if findings:
            failures += 1
            message = "; ".join(_clean(finding.message) for finding in findings)
            ElementTree.SubElement(case, "failure", type=findings[0].kind, message=message)
        if (dataset, algorithm) in errors:
            ElementTree.SubElement(case, "error", message=_clean(errors[dataset, algorithm]))
    suite.attrib |= {"tests": str(len(by_place)), "failures": str(failures), "errors": str(len(errors))}
    suite.attrib["skipped"] = str(skipped)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def render_github(
    comparison: Comparison, failed: Sequence[Record], locate: Callable[[Remark], tuple[str, int]]
) -> str:
    found = [(each, "error" if each.kind != BETTER else "warning") for each in comparison.changes]
    found += [(each, "notice") for each in comparison.findings if not comparison.is_failure(each)]
    for record in failed[:MAX_LINES]:
        dataset, algorithm = record["dataset"], record["algorithm"]
        message = f"{algorithm} on {dataset} failed: {record['error']}"
        found.append((Remark("failed", message, dataset, algorithm), "error"))
    lines = []
    for each, level in found:
        file, line = locate(each)
        place = f"file={_data(file).replace(':', '%3A').replace(',', '%2C')},line={line}"
        lines.append(f"::{level} {place},title=olbench check::{_data(each.message)}")
    return "\n".join([*lines, _summary(comparison)]) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
