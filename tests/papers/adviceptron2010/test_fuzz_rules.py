"""Rules of advice: any text is compiled, or refused with a sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olbench.errors import UserError
from olbench.papers.adviceptron2010.names import Names
from olbench.papers.adviceptron2010.rules import parse_rules, read_rules
from olbench.structs import from_plain
from tests.changes import changed_bytes, examples, expect_sentence

pytestmark = pytest.mark.fuzz

FEATURES = ("age", "bmi", "glucose", "spacer1", "spacer2", "spacer3", "spacer4")
NAMES = Names(
    FEATURES, {"sick": 1, "-1": -1}, binary=frozenset(range(3, 7)), whole=frozenset((0, 3, 4, 5, 6))
)
FEATURE = st.sampled_from(FEATURES)
NUMBER = st.sampled_from(["2", "0.5", "1e1", ".25", "3."])
PRODUCT = FEATURE | NUMBER | st.builds("{}*{}".format, NUMBER, FEATURE)
PRODUCT |= st.builds("{} * ({} + {})".format, NUMBER, FEATURE, FEATURE)
SUM = PRODUCT | st.builds("{}{}{}".format, PRODUCT, st.sampled_from([" + ", " - "]), PRODUCT)
SIGN = st.sampled_from(["<=", ">=", "<=", ">=", "<", ">", "="])
WHOLE = st.integers(-30, 60).map(str)
COUNT = st.just("") | st.builds(
    "{} {} of ".format, st.sampled_from(["at least", "at most", "exactly"]), st.integers(0, 3)
)
SPACERS = st.sampled_from(["spacers(1-4)", "spacers(1, 3)", "spacer2", "spacer1, spacer3", "spacers(2-3, 4)"])
STATE = st.sampled_from(["present", "absent"])
CONDITION = st.one_of(
    st.builds("{}{} {}".format, COUNT, SPACERS, STATE),
    st.builds("{} {} {}".format, SUM, SIGN, SUM | WHOLE),
    SIGN.flatmap(lambda sign: st.builds(f"{{}} {sign} {{}} {sign} {{}}".format, WHOLE, SUM, WHOLE)),
)
HEAD = st.sampled_from(["sick", "not sick", "1", "-1", "SICK"])
RULE = st.builds("{} => {}".format, st.lists(CONDITION, min_size=1, max_size=3).map(" and ".join), HEAD)
WORDS = st.sampled_from([
    "and", "or", "not", "=>", "->", "<=", ">", "==", "≤", "≠", "at least", "exactly", "of", "present",
    "absent", "is", "spacers(1-4)", "spacers(4-1)", "spacer 2", "spacer 9", "(", ")", "*", "/", "^", "+", "-",
    ",", "0", "1e400", "1" * 400, "age", "'bmi'", '"', "sick", "zero", "x1", "x99", "²", "١", "\0",
    "spacers(1-99999999999)", "(" * 3000, "-" * 50,
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
@given(RULE | RULE.flatmap(changed_words) | DAMAGED)
def test_a_rule_is_compiled_or_refused(text):
    try:
        advice = parse_rules(from_plain({"rules": [text]}, "rules.yaml:1")).compile(NAMES)
    except UserError as error:
        expect_sentence(error)
        return
    for each in advice:
        assert np.isfinite(each.D).all()
        assert np.isfinite(each.d).all()


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
