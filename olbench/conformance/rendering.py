"""Verdicts as text, JSON and a line for a README, with the formulas of the papers."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from olbench import __version__
from olbench.algorithms.definition import Definition
from olbench.conformance.comparison import tolerance_of
from olbench.conformance.example import PLACES
from olbench.errors import count
from olbench.plugins import paper_ids

if TYPE_CHECKING:
    from olbench.conformance.verdict import Conformance

WORDS = {
    "conforms": "conforms to {}",
    "convention": "conforms with another convention to {}",
    "variant": "is not {} but a known variant",
    "defect": "contains a known defect against {}",
    "differs": "differs from {}",
    "failed": "fails, so it cannot be compared with {}",
}
QUANTITIES = ("margin", "variance", "step", "weights", "covariance")


@cache
def read_formulas() -> dict[str, dict[str, str]]:
    file = Path(__file__).with_name("formulas.yaml")
    formulas: dict[str, dict[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return formulas


def find_formula(definition: Definition, place: str) -> str:
    """Return the paper's formula at a place: trigger, step or covariance; elsewhere all that are known.

    Other learners have theirs in the last paragraph of their description.
    """
    known = read_formulas().get(definition.id.removeprefix("averaged-"))
    if known is None:
        return " ".join(definition.doc.strip().rpartition("\n\n")[2].split())
    if place == "trigger":
        return f"update if {known['trigger']}"
    wanted = [place] if place in ("step", "covariance") else ["step", "covariance"]
    return "; ".join(known[part] for part in wanted if part in known)


def render_headline(verdict: "Conformance") -> str:
    setting = describe_params(verdict.params)
    target = f"{verdict.definition.id} ({setting})" if setting else verdict.definition.id
    sentence = f"{verdict.subject} {WORDS[verdict.outcome].format(target)}"
    if verdict.outcome == "conforms":
        return sentence
    if verdict.outcome == "differs" and verdict.example:
        return f"{sentence} {PLACES[verdict.example.place]}"
    return f"{sentence}: {verdict.failure or explain(verdict)}"


def describe_params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {shorten_value(value)}" for name, value in params.items())


def explain(verdict: "Conformance") -> str:
    if verdict.order:
        return f"it {verdict.order}"
    if verdict.candidate is None:
        return "no known convention or defect explains it"
    definition = verdict.candidate.definition
    parts = [f"it is {definition.id} ({definition.source})"] if definition is not verdict.definition else []
    return ", and ".join([*parts, *(f"it {each.says}" for each in verdict.explained_by)])


def render_evidence(verdict: "Conformance") -> str:
    return f"{count(verdict.agreement.rounds, 'round')}, {verdict.agreement.largest or 1e-17:.0e}"


def render_readme_line(verdict: "Conformance") -> str:
    from olbench.analysis.published import load_paper

    subject, setting, definition = verdict.subject, describe_params(verdict.params), verdict.definition
    verb = "conforms to" if verdict.outcome == "conforms" else "conforms, with another convention, to"
    papers = re.compile("|".join(rf"\b{id}\b" for id in paper_ids()))
    source = papers.sub(lambda id: load_paper(id[0]).citation, definition.source)
    with_setting = f" with {setting}" if setting else ""
    evidence = f"{render_evidence(verdict).replace(', ', ' to ')}, olbench {__version__}"
    return f"{subject} {verb} {definition.title}{with_setting} ({source}): {evidence}"


def render_github(verdict: "Conformance", place: str) -> str:
    if verdict.conforms:
        return f"{verdict.headline}.\n"
    file = f" file={place}" if place else ""
    return f"::error{file}::{verdict.headline}.\n"


def render_text(verdict: "Conformance") -> str:
    lines = list_lines(verdict)
    if verdict.outcome == "convention" and not verdict.conforms:
        allowed = ",".join(each.id for each in verdict.explained_by)
        lines += ["", f"If that is intended, allow it: --allow {allowed}"]
    return "\n".join(lines) + "\n"


def list_lines(verdict: "Conformance") -> list[str]:
    lines, agreement = [f"{verdict.headline}."], verdict.agreement
    if agreement.quantities and verdict.outcome != "differs" and not verdict.order:
        start = "With that, the exact learner agrees in" if verdict.candidate else "It agrees in"
        what = ", ".join(sorted(agreement.quantities))
        lines.append(
            f"{start} {count(agreement.rounds, 'round')} to {max(agreement.largest, 1e-17):.0e} "
            f"(tolerance {tolerance_of(verdict.unit):.0e}); compared: {what}."
        )
    if agreement.unclear:
        lines.append(f"{count(agreement.unclear, 'round')} left out, where the difference may be rounding.")
    lines += [f"Seen before: {each.seen}." for each in verdict.explained_by if each.seen]
    lines += [f"Equally possible: it {each.says}; the rounds are the same." for each in verdict.alternatives]
    return [*lines, *(f"Note: {remark}." for remark in verdict.remarks), *_show_example(verdict)]


def _show_example(verdict: "Conformance") -> list[str]:
    first, example = verdict.divergence, verdict.example
    if first is None or example is None:
        return []
    formula = find_formula(verdict.definition, example.place)
    names = {} if verdict.definition.order == "second" else {"variance": "||x||^2", "step": "tau"}
    lines = [
        "",
        f"First difference: {first.quantity} in round {first.round:,} of '{first.input.name}' "
        f"({first.input.purpose}).",
        f"Smallest example, {PLACES[example.place]}:",
        f"  {formula} ({verdict.definition.source})",
    ]
    for t, row in enumerate(example.rows, start=1):
        lines.append(f"  round {t}: x = {shorten_value(row['x'])}, y = {row['y']:+.0f}")
        if t < len(example.rows) and len(example.rows) > 4:
            continue
        shown = [("", "subject", verdict.definition.id)]
        for quantity in QUANTITIES:
            seen, expected = row[quantity].get("seen"), row[quantity]["expected"]
            if expected is not None:
                text = "" if seen is None else shorten_value(seen)
                shown.append((names.get(quantity, quantity), text, shorten_value(expected)))
        width = max(len(text) for _, text, _ in shown)
        lines += [f"    {name:12} {text:{width}}  {expected}" for name, text, expected in shown]
    return lines


def shorten_value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.ndim == 2:
            return "; ".join(shorten_value(row) for row in value)
        return f"({', '.join(shorten_value(float(each)) for each in value)})"
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def render_markdown(verdict: "Conformance") -> str:
    first, _, rest = render_text(verdict).partition("\n")
    return f"**{first}**\n\n```text\n{rest.strip()}\n```\n"


def render_json(verdict: "Conformance") -> str:
    found: dict[str, Any] = {
        "subject": verdict.subject,
        "algorithm": verdict.definition.id,
        "source": verdict.definition.source,
        "params": dict(verdict.params),
        "verdict": verdict.outcome,
        "conforms": verdict.conforms,
        "sentence": verdict.headline,
        "explained_by": list(verdict.deviations) or ([verdict.order] if verdict.order else []),
        "or_by": [each.id for each in verdict.alternatives],
        "seen": [each.seen for each in verdict.explained_by if each.seen],
        "rounds": verdict.agreement.rounds,
        "unclear_rounds": verdict.agreement.unclear,
        "largest_difference": verdict.agreement.largest,
        "tolerance": tolerance_of(verdict.unit),
        "compared": sorted(verdict.agreement.quantities),
        "remarks": list(verdict.remarks),
    }
    first = verdict.divergence
    if first and verdict.example:
        place = {"input": first.input.name, "round": first.round, "quantity": first.quantity}
        found["first_difference"] = place
        found["place"] = verdict.example.place
        found["formula"] = find_formula(verdict.definition, verdict.example.place)
        found["example"] = verdict.example.rows
    # What json does not know is an array or a number of NumPy.
    return json.dumps(found, indent=2, default=lambda value: value.tolist()) + "\n"
