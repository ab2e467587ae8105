"""Verdicts as text, JSON and a line for a README, with the formulas of the papers."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.algorithms.definition import Definition
from olbench.conformance.comparison import tolerance_of
from olbench.conformance.example import PLACES
from olbench.errors import count

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
_DEVIATION = (
    "beta = alpha phi / (sqrt(u) + v alpha phi), sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2"
)
_ALPHA = "(-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 zeta)) / (v zeta)"
_ROMMA = "w = ((s q - m) w + q (y - f) x) / (s q - f^2), q = ||w||^2; w = y x if w = 0"
#: By id: when it updates, its step and its covariance; m = y mu.x, v = x' Sigma x, s = ||x||^2, f = mu.x.
FORMULAS: dict[str, tuple[str, str, str]] = {
    "perceptron": ("y w.x <= 0 (sign(0) = +1)", "tau = 1", ""),
    "margin-perceptron": ("m <= margin", "tau = 1", ""),
    "pa": ("l = 1 - m > 0", "tau = l / s", ""),
    "pa1": ("l = 1 - m > 0", "tau = min(C, l / s)", ""),
    "pa2": ("l = 1 - m > 0", "tau = l / (s + 1/(2C))", ""),
    "romma": ("a mistake", _ROMMA, ""),
    "aromma": ("1 - m > 0", _ROMMA, ""),
    "alma": (
        "m / ||x|| <= (1 - alpha) sqrt(8) / (alpha sqrt(k))",
        "w += C y x / (sqrt(k) ||x||), then w /= max(1, ||w||)",
        "",
    ),
    "ogd": ("a loss", "tau = -C / sqrt(t) times the slope of the loss", ""),
    "sgd": ("every round", "w = (1 - eta lam) w - eta times the slope of the loss", ""),
    "sop": ("a mistake of w' S x, S = (Sigma^-1 + x x')^-1", "w += y x", "Sigma = S, on a mistake"),
    "sop-libol": ("a mistake of w' S x, S = (Sigma^-1 + x x')^-1", "w += y x", "Sigma = S, in every round"),
    "iellip": (
        "a mistake",
        "mu += ((1 - m) / sqrt(v)) Sigma g, g = y x / sqrt(v)",
        "Sigma = (Sigma - c_t Sigma g g' Sigma) / (1 - c_t), c_t = c b^(t - 1)",
    ),
    "cw": ("phi sqrt(v) - m > 0", f"alpha = max(0, {_ALPHA})", _DEVIATION),
    "cw-var": (
        "phi v - m > 0",
        "alpha = max(0, (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v))) / (4 phi v))",
        "beta = 2 alpha phi / (1 + 2 alpha phi v)",
    ),
    "arow": ("l = 1 - m > 0", "alpha = l / (v + r)", "beta = 1 / (v + r)"),
    "nherd": ("l = 1 - m > 0", "alpha = l / (v + 1/C)", "beta = (v + 2/C) / (v + 1/C)^2"),
    "narow": (
        "l = 1 - m > 0",
        "alpha = l beta",
        "beta = 1 / (v + r), r = v / (b v - 1) if v > 1/b, else no change",
    ),
    "narow2010": ("1 - m > 0", "theta += y x, mu = Sigma theta", "as NAROW"),
    "scw1": ("phi sqrt(v) - m > 0", f"alpha = min(C, max(0, {_ALPHA}))", _DEVIATION),
    "scw2": (
        "phi sqrt(v) - m > 0",
        "alpha = max(0, (-(2 m n + phi^2 m v) + gamma) / (2 (n^2 + n v phi^2))), n = v + 1/(2C), "
        "gamma = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2))",
        _DEVIATION,
    ),
}


def find_formula(definition: Definition, place: str) -> str:
    """Return the paper's formula at a place: trigger, step or covariance; elsewhere all that are known.

    Other learners have theirs in the last paragraph of their description.
    """
    known = FORMULAS.get(definition.id.removeprefix("averaged-"))
    if known is None:
        return " ".join(definition.doc.strip().rpartition("\n\n")[2].split())
    trigger, step, covariance = known
    wanted = {"trigger": [f"update if {trigger}"], "step": [step], "covariance": [covariance]}
    return "; ".join(part for part in wanted.get(place, [step, covariance]) if part)


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
    words = {"conforms": "conforms to", "convention": "conforms, with another convention, to"}
    verb = words.get(verdict.outcome, "does not conform to")
    return f"{verdict.definition.title} {verb} {verdict.definition.source}: {render_evidence(verdict)}"


def render_github(verdict: "Conformance", place: str) -> str:
    if verdict.conforms:
        return f"{verdict.headline}.\n"
    file = f" file={place}" if place else ""
    return f"::error{file}::{verdict.headline}.\n"


def render_text(verdict: "Conformance") -> str:
    lines, agreement = [f"{verdict.headline}."], verdict.agreement
    if agreement.rounds and verdict.outcome != "differs" and not verdict.order:
        start = "With that, the exact learner agrees in" if verdict.candidate else "It agrees in"
        what = ", ".join(sorted(agreement.quantities)) or "nothing"
        lines.append(
            f"{start} {count(agreement.rounds, 'round')} to {max(agreement.largest, 1e-17):.0e} "
            f"(tolerance {tolerance_of(verdict.unit):.0e}); compared: {what}."
        )
    if agreement.unclear:
        lines.append(f"{count(agreement.unclear, 'round')} left out, where the difference may be rounding.")
    lines += [f"Seen before: {each.seen}." for each in verdict.explained_by if each.seen]
    lines += [f"Equally possible: it {each.says}; the rounds are the same." for each in verdict.alternatives]
    lines += [f"Note: {remark}." for remark in verdict.remarks]
    lines += _show_example(verdict)
    if verdict.outcome == "convention" and not verdict.conforms:
        allowed = ",".join(each.id for each in verdict.explained_by)
        lines += ["", f"If that is intended, allow it: --allow {allowed}"]
    return "\n".join(lines) + "\n"


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
    if example.input.start is not None:
        mu, sigma = map(shorten_value, example.input.start)
        lines.append(f"  from weights {mu} and covariance {sigma}")
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
        found["first_difference"] = {
            "input": first.input.name,
            "round": first.round,
            "quantity": first.quantity,
        }
        found["place"] = verdict.example.place
        found["formula"] = find_formula(verdict.definition, verdict.example.place)
        found["example"] = verdict.example.rows
    # What json does not know is an array or a number of NumPy.
    return json.dumps(found, indent=2, default=lambda value: value.tolist()) + "\n"
