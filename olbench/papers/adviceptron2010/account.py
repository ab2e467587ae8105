"""What rules say about a data set: inequalities, coverage, precision, contradictions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from olbench.data.labels import Labels
from olbench.errors import count
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.names import NamedDataset, Names, load_named
from olbench.papers.adviceptron2010.rules import RuleFile, list_missing, read_rules
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet, conflicts, unsatisfiable
from olbench.report import table as t
from olbench.report.table import Column, Part, Table


@dataclass(frozen=True)
class Coverage:
    rule: AdviceSet
    title: str
    rows: list[str]
    covered: int
    right: int


@dataclass(frozen=True)
class Account:
    headline: str
    n: int
    entries: list[Coverage]
    summary: list[str]
    warnings: list[str]


def make_account(rules: str, data: str, positive: Labels = None) -> Account:
    file = read_rules(rules)
    return describe_rules(file, load_named(data, positive, file.features))


COLUMNS = (
    Column("rule", t.COUNT),
    Column("class"),
    Column("covers", t.COUNT),
    Column("of all rows", t.Format(lambda share: f"{share:.1%}")),
    Column("right", t.COUNT),
    Column("precision", t.Format(lambda share: f"{share:.2%}")),
)


def list_parts(account: Account) -> Iterator[Part]:
    yield account.headline
    rows: list[tuple[Any, ...]] = []
    for number, entry in enumerate(account.entries, start=1):
        rule, n, right = entry.rule, entry.covered, entry.right
        lines = [f"{number}. {rule.text}", *(f"     {row}" for row in entry.rows)]
        lines.append(f"   {_short(rule.place)}" + (f"; {rule.source}" if rule.source else ""))
        lines += [f"   dropped: {condition} (the data has no such feature)" for condition in rule.dropped]
        yield "\n".join(lines)
        # Rounded down, so that 100% means all of them.
        precision = right * 10_000 // n / 10_000 if n else math.nan
        rows.append((number, entry.title, n, n / account.n, right, precision))
    yield Table("", COLUMNS, rows)
    yield "\n".join(account.summary)
    yield from (f"warning: {warning}" for warning in account.warnings)


def describe_rules(file: RuleFile, named: NamedDataset) -> Account:
    names, advice = file.names(named.names), file.compile(named.names)
    X, y = named.data.X, np.asarray(named.data.y)
    masks = np.array([each.covers(X) for each in advice], dtype=bool).reshape(len(advice), y.size)
    entries = []
    for each, mask in zip(advice, masks, strict=True):
        rows = [describe_row(*row, names) for row in zip(each.D[: each.written], each.d, strict=False)]
        if added := each.d.size - each.written:
            rows.append(f"and {count(added, 'row')} for 0 <= x <= 1")
        covered, right = int(mask.sum()), int((y[mask] == each.z).sum())
        entries.append(Coverage(each, names.title(each.z), rows, covered, right))
    positives = int((y > 0).sum())
    headline = (
        f"{named.data.name}: {count(y.size, 'row')}, {count(len(names.features), 'feature')}; "
        f"{positives:,} {names.title(1)} ({positives / y.size:.1%}), {y.size - positives:,} {names.title(-1)}"
    )
    warnings = [*_warn_of_missing(file, names, advice), *_warn(advice, names, masks)]
    return Account(headline, y.size, entries, _summarise(advice, masks, y), warnings)


def _short(place: str) -> str:
    return place.rpartition("/")[2]


def describe_row(row: Floats, bound: float, names: Names) -> str:
    """Return an inequality of D x <= d in words.

    >>> describe_row(np.array([-1.0, -2.0]), -180.0, Names(("glucose", "bmi")))
    '-glucose - 2 bmi <= -180'
    """
    words = ""
    for column in np.flatnonzero(row):
        sign, size = ("-" if row[column] < 0 else "+"), abs(row[column])
        words += f" {sign} " if words else sign
        words += names.features[column] if size == 1.0 else f"{size:.10g} {names.features[column]}"
    return f"{words.removeprefix('+')} <= {bound:.10g}"


def _summarise(advice: Advice, masks: Any, y: Floats) -> list[str]:
    z = np.array([each.z for each in advice])
    yes, no = (masks[z == sign].any(axis=0) for sign in (1, -1))
    one, both = yes ^ no, int((yes & no).sum())
    lines = [f"{int((~yes & ~no).sum()):,} of {count(y.size, 'row')} covered by no rule"]
    if both:
        lines.append(f"{count(both, 'row')} covered by rules of both classes")
    if one.any():
        share = (np.where(yes, 1, -1)[one] == y[one]).mean()
        lines.append(
            f"where rules of one class only apply, {share:.1%} of {int(one.sum()):,} rows have that class"
        )
    return lines


def _warn_of_missing(file: RuleFile, names: Names, advice: Advice) -> Iterator[str]:
    kept = {each.place for each in advice}
    for rule in file.rules:
        if rule.source.place not in kept and any(list_missing(names, each) for each in rule.conditions):
            yield (
                f"the rule at {_short(rule.source.place)} is left out: the data has none of its features "
                f"('{' '.join(rule.source.text.split())}')"
            )


def _warn(advice: Advice, names: Names, masks: Any) -> Iterator[str]:
    for i, j in conflicts(advice):
        both = int((masks[i] & masks[j]).sum())
        rows, verb = (count(both, "row") if both else "no row"), ("satisfy" if both > 1 else "satisfies")
        yield (
            f"rules {i + 1} and {j + 1} contradict each other: their conditions can hold together, and one "
            f"says {names.title(advice.sets[i].z)}, the other {names.title(advice.sets[j].z)}; {rows} of "
            f"the data {verb} both"
        )
    if inside := unsatisfiable(advice):
        numbers = ", ".join(str(i + 1) for i in inside)
        yield (
            f"rule{'s' if len(inside) > 1 else ''} {numbers} cannot be satisfied without a constant feature: "
            "the origin satisfies the conditions, and w.x is zero there for every w; learn with a bias"
        )
