"""From rules to inequalities: names become columns, conditions rows of D x <= d."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from olbench.errors import suggest
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.grammar import Condition, Feature, Inequality, Rule, parse_rule
from olbench.papers.adviceptron2010.names import Names
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet, is_empty
from olbench.papers.adviceptron2010.tokens import RuleText

Row = tuple[Floats, float]


def compile_texts(
    texts: Iterable[str], names: Names, missing: str = "refuse", domain: bool = False
) -> Advice:
    """Compile rules given as text, without a file.

    >>> names = Names(("glucose", "bmi"), {"diabetes": 1})
    >>> [each] = compile_texts(["bmi >= 30 and glucose >= 126 => diabetes"], names)
    >>> each.D.tolist(), each.d.tolist(), each.z
    ([[0.0, -1.0], [-1.0, 0.0]], [-30.0, -126.0], 1)
    """
    rules = [parse_rule(RuleText(str(text), f"rule {k}")) for k, text in enumerate(texts, start=1)]
    return compile_rules(rules, names, missing, domain)


def compile_rules(
    rules: Sequence[Rule], names: Names, missing: str, domain: bool, sources: Sequence[str] = ()
) -> Advice:
    """A condition on a feature that the data lacks is refused, or with missing="drop" left out.

    `domain` adds 0 <= x <= 1 for 0/1 features to every set. A rule that no example can satisfy is refused.
    """
    sets = []
    for rule, source in zip(rules, sources or [""] * len(rules), strict=True):
        compiled = _Compiler(rule, names, missing).compile(source)
        if compiled is not None:
            sets.append((rule, compiled))
    advice = Advice(tuple(each for _, each in sets), len(names.features))
    if domain:
        advice = advice.with_domain(names.binary)
    for (rule, _), each in zip(sets, advice, strict=True):
        if is_empty(each.D, each.d):
            within = " with features between 0 and 1" if domain else ""
            raise rule.source.fail(
                0, f"no example can satisfy all conditions of this rule{within}; correct or leave out one"
            )
    return advice


def list_missing(names: Names, condition: Condition) -> list[Feature]:
    return [feature for feature in condition.features if names.column(feature.spellings) is None]


class _Compiler:
    def __init__(self, rule: Rule, names: Names, missing: str):
        self.rule, self.names, self.missing = rule, names, missing

    def compile(self, source: str) -> AdviceSet | None:
        z = self.sign()
        kept = [condition for condition in self.rule.conditions if self._is_kept(condition)]
        if z is None or not kept:
            return None
        rows = [row for condition in kept for row in self.rows(condition)]
        return AdviceSet(
            # adding zero turns the minus zeros of turned rows into plain ones
            D=np.array([row for row, _ in rows]) + 0.0,
            d=np.array([bound for _, bound in rows]) + 0.0,
            z=z,
            text=" ".join(self.rule.source.text.split()),
            place=self.rule.source.place,
            source=source,
            dropped=tuple(condition.text for condition in self.rule.conditions if condition not in kept),
        )

    def sign(self) -> int | None:
        head = self.rule.head
        try:
            return self.names.sign(head.name, head.negated)
        except KeyError:
            known = list(self.names.classes)
            raise self.rule.source.fail(
                head.start,
                f"there is no class '{head.name}'{suggest(head.name, [name.lower() for name in known])}; "
                f"the classes are {', '.join(known)}, or one of them behind 'not'",
            ) from None

    def _is_kept(self, condition: Condition) -> bool:
        lacking = list_missing(self.names, condition)
        if not lacking:
            return True
        if self.missing == "drop":
            return False
        name, known = lacking[0].name, [each.lower() for each in self.names.features]
        raise self.rule.source.fail(
            lacking[0].start,
            f"the data has no feature '{name}'{suggest(name, known)}; correct the name, or set "
            "'missing: drop' to leave such conditions out",
        )

    def rows(self, condition: Condition) -> list[Row]:
        columns = [self._column(feature) for feature in condition.binary]
        for k, (feature, column) in enumerate(zip(condition.binary, columns, strict=True)):
            if column in columns[:k]:
                raise self.rule.source.fail(feature.start, f"'{feature.name}' is listed twice")
            if self.names.binary is not None and column not in self.names.binary:
                raise self.rule.source.fail(
                    feature.start,
                    f"'{feature.name}' holds other values than 0 and 1, so it is neither present nor absent; "
                    "compare it with a number",
                )
        return [self._row(each) for each in condition.inequalities]

    def _column(self, feature: Feature) -> int:
        column = self.names.column(feature.spellings)
        assert column is not None  # `_is_kept` refuses or drops what is missing
        return column

    def _row(self, inequality: Inequality) -> Row:
        row = np.zeros(len(self.names.features))
        for feature, value in inequality.difference.terms.items():
            row[self._column(feature)] += value
        bound = 0.0 - inequality.difference.constant
        if not (np.isfinite(row).all() and math.isfinite(bound)):
            raise self.rule.source.fail(inequality.start, "its numbers are too large for 64 bits together")
        if not row.any():
            raise self.rule.source.fail(
                inequality.start, "the features cancel, so only constants are left to compare; name a feature"
            )
        if not inequality.strict:
            return row, bound
        columns, whole = np.flatnonzero(row), self.names.whole
        if whole is None or not whole.issuperset(columns.tolist()) or (row != np.rint(row)).any():
            raise self.rule.source.fail(
                inequality.start,
                "a strict < or > means something only for features that are whole numbers; write <= or >=",
            )
        # The largest value below the bound that a sum of whole numbers can take.
        return row, math.ceil(bound) - 1.0
