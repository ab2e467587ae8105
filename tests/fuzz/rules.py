"""Rules of advice: the examples that a compiled rule covers are those for which its text holds."""

import ast
import operator
import random
import re
import warnings
import zlib
from pathlib import Path

import numpy as np

from olbench.advice.compile import compile_rules
from olbench.advice.files import parse_rules, read_rules
from olbench.advice.names import Names
from olbench.errors import UserError
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes

FEATURES = ("age", "bmi", "glucose", "spacer1", "spacer2", "spacer3", "spacer4")
NAMES = Names(
    FEATURES, {"sick": 1, "-1": -1}, binary=frozenset(range(3, 7)), whole=frozenset((0, 3, 4, 5, 6))
)
WORDS = [
    "and", "or", "not", "=>", "->", "<=", ">=", "<", ">", "=", "==", "≤", "≥", "≠", "at least", "at most",
    "exactly",
    "of", "present", "absent", "is", "are", "spacers(1-4)", "spacers(4-1)", "spacers(1, 3)", "spacer 2",
    "spacer 9",
    "(", ")", "*", "/", "^", "+", "-", ",", "0", "1e400", "1" * 400, "age", "bmi", "'bmi'", '"', "sick",
    "zero", "two",
    "x1", "x99", "²", "١", "\0", "spacers(1-99999999999)", "(" * 3000, "-" * 50,
]  # fmt: skip
LISTS = ("spacers(1-4)", "spacers(1, 3)", "spacer2", "spacer1, spacer3", "spacers(2-3, 4)")
COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}
#: Points closer to a bound than this may be on either side of it.
ROUNDING = 1e-6


class RuleFuzzer:
    """Rules from the grammar, with words and bytes changed; now and then a whole rule file."""

    name = "rules"

    def make(self, random: random.Random) -> bytes:
        """Return a rule, or a rule file."""
        text = _rule(random)
        match random.randrange(8):
            case 0 | 1:
                words = text.split(" ")
                for _ in range(random.choice((1, 1, 2))):
                    at = random.randrange(len(words))
                    words[at : at + random.choice((0, 1, 1, 2))] = [random.choice(WORDS)]
                text = " ".join(words)
            case 2:
                return change_bytes(random, text.encode())
            case 3:
                missing = random.choice(("drop", "refuse", "x"))
                file = f"rules:\n  - {text}\nmissing: {missing}\nclasses: {{1: sick}}\n"
                return change_bytes(random, file.encode()) if random.random() < 0.7 else file.encode()
        return text.encode()

    def check(self, content: bytes, folder: Path) -> str:
        """Compile; compare what the inequalities cover with the text itself, read in another way."""
        is_file = content.startswith(b"rules:")
        try:
            if is_file:
                path = folder / "rules.yaml"
                path.write_bytes(content)
                read_rules(path).compile(NAMES)
                return "accepted"
            text = content.decode("utf-8", "replace")
            rules = parse_rules(_placed(text)).rules
            advice = compile_rules(rules, NAMES)
        except UserError as error:
            expect_sentence(error)
            return "refused"
        _compare(text, advice, zlib.crc32(content))
        return "accepted"


def _placed(text: str):
    from olbench.yaml_lines import from_plain

    return from_plain({"rules": [text]}, "rules.yaml:1")


def _rule(random: random.Random) -> str:
    conditions = " and ".join(_condition(random) for _ in range(random.choice((1, 1, 2, 3))))
    return f"{conditions} => {random.choice(('sick', 'not sick', '1', '-1', 'SICK'))}"


def _condition(random: random.Random) -> str:
    if random.random() < 0.35:
        state = random.choice(("present", "absent", "are present", "is absent"))
        features = random.choice(
            ("spacers(1-4)", "spacers(1, 3)", "spacer2", "spacer1, spacer3", "spacers(2-3, 4)")
        )
        count = random.choice(
            ("", "", f"{random.choice(('at least', 'at most', 'exactly'))} {random.randint(0, 3)} of ")
        )
        return f"{count}{features} {state}"
    left, right = _sum(random), _sum(random)
    sign = random.choice(("<=", ">=", "<=", ">=", "<", ">", "="))
    if random.random() < 0.15:
        return f"{random.randint(-9, 9)} {sign} {left} {sign} {random.randint(-9, 90)}"
    return f"{left} {sign} {right if random.random() < 0.4 else random.randint(-30, 60)}"


def _sum(random: random.Random) -> str:
    terms = [_product(random) for _ in range(random.choice((1, 1, 2, 3)))]
    text = terms[0]
    for term in terms[1:]:
        text += random.choice((" + ", " - ")) + term
    return text


def _product(random: random.Random) -> str:
    feature = random.choice((*FEATURES[:4], "age", "bmi"))
    number = random.choice(("2", "0.5", "1e1", ".25", "3."))
    inner = f"({random.choice(FEATURES)} + {random.choice(FEATURES)})"
    return random.choice((
        feature, feature, f"{number}*{feature}", f"{feature}/{number}", number, f"{number} * {inner}",
        f"({feature})",
    ))  # fmt: skip


def _compare(text: str, advice, seed: int) -> None:
    """Compare on random points; a text outside the language of the reference is skipped."""
    draws = np.random.default_rng(seed)
    X = np.round(draws.normal(10, 30, (40, len(FEATURES))))
    X[:, 3:] = draws.integers(0, 2, (40, 4))
    for each in advice:
        covered = each.covers(X)
        for row, is_covered in zip(X, covered, strict=True):
            expected = holds(text, dict(zip(FEATURES, row.tolist(), strict=True)))
            if expected is None:
                return
            gap = np.abs(each.D @ row - each.d).min(initial=np.inf)
            if expected != bool(is_covered) and gap > ROUNDING:
                raise Difference(f"{'covers' if is_covered else 'does not cover'} {row.tolist()}")


def holds(text: str, values: dict[str, float]) -> bool | None:
    """Tell whether the conditions of a rule hold; None where the text is not in the plain language."""
    body, arrow, head = text.partition(" => ")
    if (
        not arrow
        or not re.fullmatch(r"(not )?(sick|SICK|1|-1)", head)
        or re.search(r"[^ -~]|['\"`:;%&|!]", body)
    ):
        return None
    truths = [_condition_holds(condition.strip(), values) for condition in body.split(" and ")]
    return None if None in truths else all(truths)


PRESENCE = re.compile(
    r"(?:(at least|at most|exactly) (\d) of )?((?:spacers?\([\d, -]+\)|spacer\d)(?:, spacer\d)*)"
    r"(?: is| are)? (present|absent)"
)


def _condition_holds(condition: str, values: dict[str, float]) -> bool | None:
    if match := PRESENCE.fullmatch(condition):
        return _presence_holds(match, values)
    parts = re.split(r" (<=|>=|<|>|=) ", condition)
    if len(parts) not in (3, 5):
        return None
    sums = [_value(part, values) for part in parts[::2]]
    if None in sums:
        return None
    return all(COMPARE[sign](sums[k], sums[k + 1]) for k, sign in enumerate(parts[1::2]))


def _presence_holds(match: re.Match[str], values: dict[str, float]) -> bool | None:
    numbers: list[int] = []
    for part in re.findall(r"\d+(?: *- *\d+)?", match[3]):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    if len(set(numbers)) < len(numbers) or not numbers or not set(numbers) <= {1, 2, 3, 4}:
        return None
    is_there = 1.0 if match[4] == "present" else 0.0
    count = sum(values[f"spacer{k}"] == is_there for k in numbers)
    if match[1] is None:
        return count == len(numbers)
    wanted = int(match[2])
    return {"at least": count >= wanted, "at most": count <= wanted, "exactly": count == wanted}[match[1]]


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def _value(text: str, values: dict[str, float]) -> float | None:
    """Return the value of a sum by Python's own grammar."""
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):  # as for 1if
            return _evaluate(ast.parse(text.strip(), mode="eval").body, values)
    except (SyntaxError, ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _evaluate(node: ast.expr, values: dict[str, float]) -> float:
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_evaluate(node.left, values), _evaluate(node.right, values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, values)
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    raise ValueError("not a sum")
