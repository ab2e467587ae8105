"""Rules of advice: a compiled rule covers the examples for which its text holds, or is refused."""

import ast
import operator
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olbench.advice.compile import compile_rules
from olbench.advice.files import parse_rules, read_rules
from olbench.advice.names import Names
from olbench.errors import UserError
from olbench.yaml_lines import from_plain
from tests.changes import changed_bytes, examples, expect_sentence

pytestmark = pytest.mark.fuzz

FEATURES = ("age", "bmi", "glucose", "spacer1", "spacer2", "spacer3", "spacer4")
NAMES = Names(
    FEATURES, {"sick": 1, "-1": -1}, binary=frozenset(range(3, 7)), whole=frozenset((0, 3, 4, 5, 6))
)
FEATURE = st.sampled_from(FEATURES)
NUMBER = st.sampled_from(["2", "0.5", "1e1", ".25", "3."])
PRODUCT = st.one_of(
    FEATURE,
    NUMBER,
    st.builds("{}*{}".format, NUMBER, FEATURE),
    st.builds("{}/{}".format, FEATURE, NUMBER),
    st.builds("{} * ({} + {})".format, NUMBER, FEATURE, FEATURE),
)
SUM = PRODUCT | st.builds("{}{}{}".format, PRODUCT, st.sampled_from([" + ", " - "]), PRODUCT)
SIGN = st.sampled_from(["<=", ">=", "<=", ">=", "<", ">", "="])
WHOLE = st.integers(-30, 60).map(str)
COUNT = st.just("") | st.builds(
    "{} {} of ".format, st.sampled_from(["at least", "at most", "exactly"]), st.integers(0, 3)
)
SPACERS = st.sampled_from(["spacers(1-4)", "spacers(1, 3)", "spacer2", "spacer1, spacer3", "spacers(2-3, 4)"])
STATE = st.sampled_from(["present", "absent", "are present", "is absent"])
CONDITION = st.one_of(
    st.builds("{}{} {}".format, COUNT, SPACERS, STATE),
    st.builds("{} {} {}".format, SUM, SIGN, SUM | WHOLE),
    SIGN.flatmap(lambda sign: st.builds(f"{{}} {sign} {{}} {sign} {{}}".format, WHOLE, SUM, WHOLE)),
)
HEAD = st.sampled_from(["sick", "not sick", "1", "-1", "SICK"])
RULE = st.builds("{} => {}".format, st.lists(CONDITION, min_size=1, max_size=3).map(" and ".join), HEAD)
WORDS = st.sampled_from([
    "and", "or", "not", "=>", "->", "<=", ">", "==", "≤", "≠", "at least", "exactly", "of",
    "present", "absent", "is",
    "spacers(1-4)", "spacers(4-1)", "spacer 2", "spacer 9", "(", ")", "*", "/", "^", "+", "-", ",",
    "0", "1e400",
    "1" * 400, "age", "'bmi'", '"', "sick", "zero", "x1", "x99", "²", "١", "\0",
    "spacers(1-99999999999)", "(" * 3000,
    "-" * 50,
])  # fmt: skip


@st.composite
def changed_words(draw, text):
    words = text.split(" ")
    at = draw(st.integers(0, len(words) - 1))
    words[at : at + draw(st.integers(0, 2))] = [draw(WORDS)]
    return " ".join(words)


DAMAGED = RULE.flatmap(lambda text: changed_bytes(text.encode())).map(
    lambda text: text.decode("utf-8", "replace")
)


@examples(150)
@given(RULE | RULE.flatmap(changed_words) | DAMAGED, st.integers(0, 2**32))
def test_a_rule_covers_what_its_text_says_or_is_refused(text, seed):
    try:
        advice = compile_rules(parse_rules(from_plain({"rules": [text]}, "rules.yaml:1")).rules, NAMES)
    except UserError as error:
        expect_sentence(error)
        return
    draws = np.random.default_rng(seed)
    X = np.round(draws.normal(10, 30, (40, len(FEATURES))))
    X[:, 3:] = draws.integers(0, 2, (40, 4))
    for each in advice:
        for row, is_covered in zip(X, each.covers(X), strict=True):
            expected = holds(text, dict(zip(FEATURES, row.tolist(), strict=True)))
            if expected is None:  # outside the language of the reference
                return
            # A point on a bound may be on either side of it.
            assert expected == bool(is_covered) or np.abs(each.D @ row - each.d).min() < 1e-6, row.tolist()


FILE = "rules:\n  - {}\nmissing: {}\nclasses: {{1: sick}}\n"
RULE_FILES = st.builds(FILE.format, RULE, st.sampled_from(["drop", "refuse", "x"])).map(str.encode)


@examples(60)
@given(content=RULE_FILES | RULE_FILES.flatmap(changed_bytes))
def test_a_rule_file_is_compiled_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "rules.yaml"
    path.write_bytes(content)
    try:
        read_rules(path).compile(NAMES)
    except UserError as error:
        expect_sentence(error)


COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}
PRESENCE = re.compile(
    r"(?:(at least|at most|exactly) (\d) of )?((?:spacers?\([\d, -]+\)|spacer\d)(?:, spacer\d)*)"
    r"(?: is| are)? (present|absent)"
)


def holds(text, values):
    """Return whether the conditions of a rule hold; None where the text is not in the plain language."""
    body, arrow, head = text.partition(" => ")
    if (
        not arrow
        or not re.fullmatch(r"(not )?(sick|SICK|1|-1)", head)
        or re.search(r"[^ -~]|['\"`:;%&|!]", body)
    ):
        return None
    truths = [condition_holds(condition.strip(), values) for condition in body.split(" and ")]
    return None if None in truths else all(truths)


def condition_holds(condition, values):
    if match := PRESENCE.fullmatch(condition):
        return presence_holds(match, values)
    parts = re.split(r" (<=|>=|<|>|=) ", condition)
    sums = [value_of(part, values) for part in parts[::2]]
    if len(parts) not in (3, 5) or None in sums:
        return None
    return all(COMPARE[sign](sums[k], sums[k + 1]) for k, sign in enumerate(parts[1::2]))


def presence_holds(match, values):
    numbers = []
    for part in re.findall(r"\d+(?: *- *\d+)?", match[3]):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    if len(set(numbers)) < len(numbers) or not numbers or not set(numbers) <= {1, 2, 3, 4}:
        return None
    count = sum(values[f"spacer{k}"] == (match[4] == "present") for k in numbers)
    if match[1] is None:
        return count == len(numbers)
    wanted = int(match[2])
    return {"at least": count >= wanted, "at most": count <= wanted, "exactly": count == wanted}[match[1]]


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def value_of(text, values):
    """Return the value of a sum by Python's own grammar."""
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):  # as for 1if
            return evaluate(ast.parse(text.strip(), mode="eval").body, values)
    except (SyntaxError, ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def evaluate(node, values):
    match node:
        case ast.BinOp(left, op, right):
            return OPERATORS[type(op)](evaluate(left, values), evaluate(right, values))
        case ast.UnaryOp(ast.USub(), operand):
            return -evaluate(operand, values)
        case ast.Name(name):
            return values[name]
        case ast.Constant(int() | float() as number):
            return float(number)
    raise ValueError("not a sum")
