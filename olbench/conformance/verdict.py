"""The verdict: whether a subject is the algorithm of its paper and, if not, what it is or where it differs.

A subject is recorded on all inputs first; everything else works on these recordings.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Definition, Value
from olbench.conformance.catalogue import CATALOGUE, Deviation
from olbench.conformance.comparison import Agreement, Divergence, compare
from olbench.conformance.example import SmallestExample, find_example
from olbench.conformance.inputs import Input, design_inputs
from olbench.conformance.objects import ObjectSubject, RuleSubject, check_exposed, make_subject
from olbench.conformance.rendering import describe_params, render_headline, render_text
from olbench.conformance.search import Candidate, find_alternatives, find_order, search
from olbench.conformance.subjects import SINGLE, Recording, Recordings, Subject, set_unit
from olbench.errors import UserError, suggest

#: The orders of algorithms that have a replica.
COMPARED = ("first", "second", "compiled")
VerdictKind = Literal["conforms", "convention", "variant", "defect", "differs", "failed"]


@dataclass(frozen=True)
class Conformance:
    """The answer to whether a subject is an algorithm; `str` gives it in words."""

    subject: str
    definition: Definition
    params: Mapping[str, Value]
    outcome: VerdictKind
    agreement: Agreement
    unit: float
    candidate: Candidate | None = None
    alternatives: tuple[Deviation, ...] = ()
    order: str = ""
    divergence: Divergence | None = None
    example: SmallestExample | None = None
    failure: str = ""
    remarks: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    @property
    def explained_by(self) -> tuple[Deviation, ...]:
        return self.candidate.deviations if self.candidate else ()

    @property
    def conforms(self) -> bool:
        """Whether it is the algorithm, or differs only in conventions that are allowed."""
        names = {each.id for each in self.explained_by}
        return self.outcome == "conforms" or (self.outcome == "convention" and names.issubset(self.allowed))

    @property
    def deviations(self) -> tuple[str, ...]:
        """The ids that explain it: of another algorithm, and of entries of the catalogue."""
        known = self.candidate.definition if self.candidate else self.definition
        other = () if known is self.definition else (known.id,)
        return (*other, *(each.id for each in self.explained_by))

    @property
    def place(self) -> str:
        """Where the first difference is: a key of PLACES, or empty."""
        return self.example.place if self.example else ""

    @property
    def headline(self) -> str:
        return render_headline(self)

    def __str__(self) -> str:
        return render_text(self)

    def __repr__(self) -> str:
        return f"<Conformance: {self.headline}>"


def conform(
    factory: Any,
    algorithm: str,
    *,
    data: Iterable[Input] = (),
    exposed: Mapping[str, str] = {},
    allow: Iterable[str] = (),
    **params: Any,
) -> Conformance:
    """Return whether an implementation is an algorithm with these parameters.

    `factory` builds the implementation from the number of features, or from nothing: an object with
    predict_one and learn_one, predict and partial_fit, or predict and fit; it gets the parameters that it
    names. It may also be a function step(state, x, y) that returns the state, which is None at first.
    `exposed` names the attributes with the weights and the covariance where they do not have their usual
    names. `allow` lists conventions of the catalogue that are intended.

    >>> import numpy as np
    >>> class Perceptron:
    ...     def __init__(self, d): self.w = np.zeros(d)
    ...     def predict(self, X): return np.where(X @ self.w >= 0, 1, -1)
    ...     def partial_fit(self, X, y): self.w += (self.predict(X) != y) * y @ X
    >>> conform(Perceptron, "perceptron").conforms, conform(Perceptron, "pa").conforms
    (True, False)
    """
    definition = get_definition(algorithm)
    settings = definition.resolve(params)
    subject = make_subject(factory, settings, exposed=exposed)
    return judge(subject, definition, settings, data=data, allow=allow)


def judge(
    subject: Subject,
    definition: Definition,
    params: Mapping[str, Value],
    *,
    data: Iterable[Input] = (),
    allow: Iterable[str] = (),
) -> Conformance:
    if definition.rule is None or definition.order not in COMPARED:
        raise UserError(f"{definition.id} has no rule of first or second order that could be compared")
    ids, allowed = [each.id for each in CATALOGUE], tuple(allow)
    for name in allowed:
        if name not in ids:
            raise UserError(f"there is no convention '{name}'{suggest(name, ids)} in the catalogue")
    target, inputs = Candidate(definition, dict(params)), [*design_inputs(), *data]
    verdict = _judge(subject, target, inputs)
    is_unlike = verdict.outcome not in ("conforms", "convention")
    if is_unlike and isinstance(subject, ObjectSubject) and subject.style == "one":
        # A learn_one that multiplies by its label wants -1 and +1; River's gets False and True.
        subject.signed = True
        again = _judge(subject, target, inputs)
        if again.outcome not in ("differs", "failed"):
            verdict = again
    return replace(verdict, allowed=allowed)


def _judge(subject: Subject, target: Candidate, inputs: Sequence[Input]) -> Conformance:
    recordings = [subject.record(given) for given in inputs]
    if isinstance(subject, ObjectSubject):
        check_exposed(subject, recordings)
    set_unit(subject, recordings)
    recordings, zero_rows = _set_zero_rows_apart(target, recordings)
    remarks = list(subject.remarks)
    agreement = compare(target.make, recordings)
    failures = [
        f"{each.failure}, in round {len(each.sightings) + 1:,} of '{each.input.name}'"
        for each in recordings
        if each.failure
    ]
    verdict = Conformance(
        subject.name, target.definition, target.params, "conforms", agreement, recordings[0].unit
    )
    first = agreement.divergence
    if first is None:
        if agreement.holds and not failures:
            remarks += zero_rows + _list_remarks(target, agreement, recordings)
            return replace(verdict, remarks=tuple(remarks))
        nothing = "it shows no prediction, margin or weights that can be compared"
        failure = failures[0] if failures else nothing
        return replace(verdict, outcome="failed", failure=failure, remarks=tuple(remarks))
    remarks += failures[:1]
    verdict = replace(verdict, divergence=first, example=find_example(subject, target, first, recordings))
    found = search(target, first, recordings)
    if found:
        candidate, agreement = found
        return replace(
            verdict,
            outcome=candidate.kind(target.definition),
            agreement=agreement,
            candidate=candidate,
            alternatives=tuple(find_alternatives(candidate, first, recordings)),
            remarks=tuple(remarks),
        )
    is_fitted = isinstance(subject, ObjectSubject) and subject.style == "fit"
    order = find_order(target, recordings) if is_fitted else ""
    if _is_random(subject, recordings):
        remarks.append("two passes over the same rows differ: it is not deterministic")
    return replace(verdict, outcome="defect" if order else "differs", order=order, remarks=tuple(remarks))


def _is_random(subject: Subject, recordings: Recordings) -> bool:
    first = max(recordings, key=lambda each: len(each.sightings))
    pairs: Any = zip(first.sightings, subject.record(first.input).sightings, strict=False)
    return any(not np.array_equal(a.weights, b.weights) for a, b in pairs if a and b)


def _set_zero_rows_apart(target: Candidate, recordings: Recordings) -> tuple[list[Recording], list[str]]:
    """Cut the recordings where only an all-zero row explains a difference, and return remarks about that.

    The formulas of many papers divide zero by zero there.
    """
    kept, remarks = [], []
    clean = [each for each in recordings if not each.input.has_zero_rows]
    is_same = compare(target.make, clean).divergence is None
    for recording in recordings:
        zeros = np.flatnonzero(~recording.input.X.any(axis=1))
        found = compare(target.make, [recording]).divergence if zeros.size and is_same else None
        if zeros.size and (recording.failure or (found is not None and found.round > zeros[0])):
            what = recording.failure or "it continues differently"
            remarks.append(f"after an all-zero row, which the paper does not define, {what}")
            recording = replace(recording, sightings=recording.sightings[: zeros[0]], failure="")
        kept.append(recording)
    return kept, remarks


def _list_remarks(target: Candidate, agreement: Agreement, recordings: Recordings) -> list[str]:
    remarks = []
    if agreement.ties_are_negative:
        remarks.append("it predicts -1 where the margin is exactly zero; sign(0) is +1 here")
    if recordings[0].unit >= SINGLE:
        remarks.append("it shows numbers of single precision or fewer digits, and is judged by these")
    hidden = [
        each.says
        for more in target.list_more()
        for each in more.deviations
        if each.kind == "convention" and each.exchange.keys() & {"params", "constants"}
        if more.compare(recordings).holds
    ]
    if hidden:
        unseen = f"at {describe_params(target.params)} it cannot be seen whether it {' or '.join(hidden)}"
        remarks.append(f"{unseen}; another value would show it")
    return remarks


def judge_rule(definition: Definition, id: str) -> Conformance:
    """Judge a user's algorithm at its defaults, then at other values of the parameters that both have.

    At C = 1, a rule with 1 / C looks right.
    """
    target = get_definition(id)
    own, params = definition.resolve({}), target.resolve({})
    shared = {name: own[name] for name in own if name in params}
    verdict = _judge_rule(definition, target, own, params | shared)
    if only := {name: value for name, value in params.items() if name not in own}:
        remark = f"it has no parameter {' or '.join(only)}; {id} has {describe_params(only)}"
        verdict = replace(verdict, remarks=(*verdict.remarks, remark))
    other = _find_other_values(shared, definition, target)
    if not (verdict.conforms and other):
        return verdict
    again = _judge_rule(definition, target, own | other, params | shared | other)
    remark = f"it conforms at {describe_params(verdict.params)}{' too' if again.conforms else ''}"
    return replace(again, remarks=(*again.remarks, remark))


def _find_other_values(params: Mapping[str, Value], *definitions: Definition) -> dict[str, Value]:
    """Return, for each number, another that is neither its inverse, double, half or square."""
    found: dict[str, Value] = {}
    for name, value in params.items():
        for factor in (0.9, 0.4):  # the last one that is in bounds
            with suppress(ValueError):  # a word
                other = factor * float(value) or factor
                if [each.resolve({name: other}) for each in definitions]:
                    found[name] = other
    return found


def _judge_rule(
    definition: Definition, target: Definition, own: Mapping[str, Value], params: Mapping[str, Value]
) -> Conformance:
    if definition.rule is not None and definition.order in COMPARED:
        return judge(RuleSubject(definition, own), target, params)
    if definition.order == "object" and definition.factory is not None:
        factory: Any = definition.factory
        return judge(make_subject(lambda: factory(**own), {}, definition.id), target, params)
    raise UserError(f"{definition.id} is neither a rule of first or second order nor an online learner")
