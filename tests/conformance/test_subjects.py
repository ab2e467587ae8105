"""Whatever a subject does, the answer is one sentence; processes and recorded rounds are subjects too."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from olbench import conform
from olbench.algorithms import get_definition
from olbench.conformance import example, subjects
from olbench.conformance.subjects import ProcessSubject
from olbench.conformance.verdict import judge
from tests import ROOT
from tests.conformance.textbook import PA1, Fits
from tests.refusals import find_wrong, refusal

C = {"C": 0.4}


def odd(act, since=3):
    """Return a PA-I that does something odd from a round on."""

    class Odd(PA1):
        def learn(self, x, y):
            super().learn(x, y)
            if self.t >= since:
                act(self, x)

    return lambda d: Odd(d, **C)


def crash(self, x):
    raise RuntimeError("out of\npaper")


def predicts(label):
    """Return an act after which a learner predicts this label."""
    return lambda self, x: setattr(self, "predict", lambda X: [label])


class Silent:
    """Abstains in every round, and has no weights."""

    def predict_one(self, x):
        return None

    def learn_one(self, x, y):
        pass


def test_a_subject_that_fails_gives_one_sentence(capfd):
    place = ", in round 3 of 'orthogonal rows'"
    for act, sentence in (
        (lambda self, x: sys.exit(5), f"it ends the process (exit code 5){place}"),
        (crash, "it fails with RuntimeError: out of"),
        (lambda self, x: self.w.fill(np.nan), f"what it shows is not a number{place}"),
        (None, "it shows no prediction, margin or weights that can be compared"),
        (predicts(np.nan), "it predicts nan where it must predict -1 or +1, in round 4 of "),
        (predicts(2), "it predicts 2 where it must predict -1 or +1, in round 4 of "),
    ):
        verdict = conform(odd(act) if act else Silent, "pa1", **C)
        assert (verdict.conforms, verdict.outcome) == (False, "failed")
        assert sentence in verdict.headline
        assert capfd.readouterr() == ("", "")


def test_an_oddity_that_changes_no_number_is_a_remark(capfd):
    class Divides(PA1):
        def tau(self, loss, s):
            return min(self.C, float(loss) / float(s))

    zero = "after an all-zero row, which the paper does not define, it fails with"
    for subject, remark in (
        (odd(lambda self, x: print("still\nlearning"), since=2), "it prints while it learns, first 'still'"),
        (odd(lambda self, x: x.__iadd__(1.0)), "it changes the rows that it is given"),
        (lambda d: Divides(d, **C), zero),
    ):
        verdict = conform(subject, "pa1", **C)
        assert verdict.conforms
        assert any(each.startswith(remark) for each in verdict.remarks)
        assert capfd.readouterr() == ("", "")


def test_a_learner_that_is_not_deterministic_gets_a_remark():
    generator = np.random.default_rng(0)
    verdict = conform(odd(lambda self, x: self.w.__iadd__(generator.normal(size=x.size))), "pa1", **C)
    assert verdict.outcome == "differs"
    assert "it is not deterministic" in str(verdict)


def test_an_object_that_cannot_learn_is_refused():
    cases = [
        (lambda d: object(), "a subject needs predict_one and learn_one"),
        (3, "int is not a class, a factory or a function"),
        (lambda d, e: None, "needs d, e"),
    ]
    assert find_wrong(cases, lambda subject: conform(subject, "pa1", **C)) == []


def test_attributes_can_be_named():
    class Strange(PA1):
        def learn(self, x, y):
            super().learn(x, y)
            self.other, self.quux = np.ones(x.size), 2.0 * self.w

    def strange(d):
        return Strange(d, **C)

    assert conform(strange, "pa1", **C).conforms
    assert conform(strange, "pa1", exposed={"weights": "quux"}, **C).outcome == "differs"
    said = refusal(conform, strange, "pa1", exposed={"weights": "t"}, **C)
    assert "'t' cannot be the weights of 3 features" in said


SCRIPT = """
import sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "start":
        w = [0.0] * int(words[1])
        C = float(dict(word.split("=") for word in words[2:])["C"])
        continue
    y, *x = map(float, words)
    f = sum(a * b for a, b in zip(w, x))
    s = sum(a * a for a in x)
    tau = min(C, max(0.0, 1 - y * f) / s) if s else 0.0
    w = [a + tau * y * b for a, b in zip(w, x)]
    print(ANSWER, flush=True)
"""


@pytest.fixture
def process(tmp_path):
    """Return a function that makes a process with an answer of its own."""

    def make(answer):
        (tmp_path / "pa1.py").write_text(SCRIPT.replace("ANSWER", answer))
        return ProcessSubject(f"{sys.executable} {tmp_path / 'pa1.py'}", C)

    return make


def judge_pa1(subject):
    return judge(subject, get_definition("pa1"), C)


def test_a_process_that_speaks_lines_is_a_subject(process, monkeypatch):
    monkeypatch.setattr(example, "TRIES", 5)
    for answer, unit, quantities in (
        ("f, *w", subjects.DOUBLE, {"margin", "weights"}),
        ("f", subjects.DOUBLE, {"margin"}),
        ("*(f'{each:.6e}' for each in (f, *w))", 5e-7, {"margin", "weights"}),
    ):
        verdict = judge_pa1(process(answer))
        assert verdict.conforms
        assert (verdict.unit, verdict.agreement.quantities) == (pytest.approx(unit), quantities)
    assert not judge_pa1(process("f, *(2 * each for each in w)")).conforms


def test_a_process_that_fails_gives_one_sentence(process, monkeypatch):
    for answer, sentence in (
        ("'nonsense'", "it answers 'nonsense', where numbers should be"),
        ("1, 2, 3", "it answers 3 numbers; expected the margin, then"),
        ("f, sys.exit(4)", "the process ends (exit code 4) before it has answered every line"),
        ("'nan'", "what it shows is not a number, in round 1"),
    ):
        verdict = judge_pa1(process(answer))
        assert verdict.outcome == "failed"
        assert sentence in verdict.headline
    monkeypatch.setattr(subjects, "PATIENCE", 0.1)
    assert "does not finish" in judge_pa1(process("f, __import__('time').sleep(99)")).headline
    assert "cannot start '/no/such/program'" in refusal(judge_pa1, ProcessSubject("/no/such/program", C))


def test_a_learner_that_refuses_a_single_class_is_fitted_once_it_has_two():
    class Choosy(Fits):
        def fit(self, X, y):
            if len(set(y)) < 2:
                raise ValueError("one class only")
            return super().fit(X, y)

    assert conform(lambda d: Choosy(PA1, d, **C), "pa1", **C).conforms


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_the_learner_in_cpp_of_the_documents_conforms(tmp_path):
    binary = tmp_path / "arow"
    subprocess.run(["c++", "-O2", "-o", binary, ROOT / "docs/examples/arow.cpp"], check=True)
    verdict = judge(ProcessSubject(str(binary), {"r": 0.7}), get_definition("arow"), {"r": 0.7})
    assert verdict.conforms, str(verdict)
    assert set(verdict.agreement.quantities) == {"covariance", "margin", "weights"}
