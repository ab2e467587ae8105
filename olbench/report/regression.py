"""What a check found, as text, JSON, JUnit XML and annotations of GitHub Actions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from olbench.engine.regression import Comparison, Remark
from olbench.report.grid import count
from olbench.trials.trial import Record

#: How many findings of one kind are printed at most.
MAX_LINES = 20


def render_text(comparison: Comparison, failed: Sequence[Record]) -> str:
    """Return one line per finding, and a summary."""
    lines = []
    for change in (True, False):
        own = [finding.message for finding in comparison.findings if finding.is_change is change]
        lines += own[:MAX_LINES]
        if len(own) > MAX_LINES:
            lines.append(f"... and {len(own) - MAX_LINES} more")
    return "\n".join([*lines, _summary(comparison)]) + "\n"


def _summary(comparison: Comparison) -> str:
    return f"{count(comparison.compared, 'count')} compared, {comparison.changed} changed"


def render_json(comparison: Comparison, failed: Sequence[Record]) -> str:
    """Return everything as one JSON object."""
    content: dict[str, Any] = {
        "compared": comparison.compared,
        "changed": comparison.changed,
        "findings": [asdict(finding) for finding in comparison.findings],
        "failed": [{name: record[name] for name in ("dataset", "algorithm", "error")} for record in failed],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def render_junit(comparison: Comparison, failed: Sequence[Record], cells: Sequence[tuple[str, str]]) -> str:
    """Return a test case for each algorithm on each data set; what concerns all of them is one of its own."""
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
    """Return a text without the characters that XML does not allow."""
    return "".join(c if c.isprintable() else " " for c in text)


def render_github(
    comparison: Comparison, failed: Sequence[Record], config: str, files: Mapping[str, str]
) -> str:
    """Return one annotation per finding, in the plugin of the algorithm or else in the config."""
    found = [(each.algorithm, each.message, each.is_change) for each in comparison.findings]
    for record in failed[:MAX_LINES]:
        algorithm = record["algorithm"]
        found.append((algorithm, f"{algorithm} on {record['dataset']} failed: {record['error']}", True))
    lines = []
    for algorithm, message, is_error in found:
        level, place = "error" if is_error else "notice", _property(files.get(algorithm, config))
        lines.append(f"::{level} file={place},title=olbench check::{_data(message)}")
    return "\n".join([*lines, _summary(comparison)]) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
