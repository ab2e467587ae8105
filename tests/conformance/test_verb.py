"""The verb: exit codes, formats, what the subject calls its parameters, one's own rule."""

import json
import re

import pytest

import olbench
from olbench.conformance.catalogue import CATALOGUE
from olbench.plugins import forget_file
from tests import ROOT

RULE = ROOT / "docs/examples/my_rule.py"
MODULE = """\
import numpy as np
from olbench import Parameter, contestant, second_order
class Arow:
    def __init__(self, d, r, wrong=False):
        self.mu, self.S, self.r, self.wrong = np.zeros(d), np.eye(d), r, wrong
    def predict(self, X):
        return np.where(X @ self.mu >= 0, 1, -1)
    def partial_fit(self, X, y):
        for x, t in zip(X, y):
            m, z = t * (self.mu @ x), self.S @ x
            if m < 1:
                v = x * x @ np.diag(self.S) if self.wrong else x @ z
                self.mu = self.mu + (1 - m) / (v + self.r) * t * z
                self.S = self.S - np.outer(z, z) / (v + self.r)
class Wrong(Arow):
    def __init__(self, d, r):
        super().__init__(d, r, wrong=True)
class Inverse(Arow):
    def __init__(self, d, gamma):
        super().__init__(d, 1 / gamma)
def step(state, x, y, r):
    model = state or Arow(x.size, r)
    model.partial_fit([x], [y])
    return model
def step_at_half(state, x, y):
    return step(state, x, y, 0.5)
@contestant("mine-arow", parameters=(Parameter("r", 1.0, "regularisation"),))
def contestant(d, r):
    return Arow(d, r)
@second_order("mine-inverse", parameters=(Parameter("r", 1.0, "regularisation"),))
def inverse(m, v, mistake, t, p):
    return (1 - m, (1 - m) / (v + 1 / p[0]), p[0]) if m < 1 else (0.0, 0.0, 0.0)
@second_order("mine-rule")
def rule(m, v, mistake, t, p):
    return 0.0, 0.0, 0.0
instance = Arow(3, 0.5)
number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield
    forget_file("mine")


WRONG = ("conform", "mine:Wrong", "--as", "arow", "--set", "r=0.5")


def test_a_class_that_conforms_exits_with_zero_and_gives_a_line_for_a_readme(here, module):
    out = here.out("conform", "mine:Arow", "--as", "arow", "--set", "r=0.5")
    assert out.startswith("Arow conforms to arow (r = 0.5).\nIt agrees in 575 rounds to ")
    line = "For a README: Arow conforms to AROW with r = 0.5 (Crammer, Kulesza & Dredze, NIPS 2009; Wang, "
    assert line in out.replace("\n", " ")
    assert f", olbench {olbench.__version__}\n" in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_class_with_a_defect_exits_with_one_in_every_format(here, module, tmp_path):
    out = here.out(*WRONG, code=1)
    assert "contains a known defect against arow (r = 0.5): it takes v from the diagonal of Sigma" in out
    page = (RULE.parents[1] / "conform.md").read_text(encoding="utf-8")
    shown = "".join(f"    {line}\n" for line in out.splitlines()[:5])
    rounding = r" to \de-\d\d "  # as the linear algebra of this machine adds
    assert re.sub(rounding, "", shown) in re.sub(rounding, "", page)
    out = here.out("conform", "mine.py:Wrong", *WRONG[2:], "--format", "github", code=1)
    assert out.startswith("::error file=mine.py::Wrong contains a known defect")
    assert here.out(*WRONG, "--format", "md", code=1).startswith("**Wrong contains a known defect")
    assert here.out(*WRONG, "--format", "json", "--output", tmp_path / "verdict.json", code=1) == ""
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["conforms"]) == ("defect", False)
    assert verdict["explained_by"] == ["variance-from-diagonal"]
    assert verdict["seen"] == ["olpy 1.0.0.dev3: CW, ECCW, SCW, SCW2"]
    assert verdict["formula"] == "alpha = l / (v + r)"
    assert verdict["example"][-1]["step"]["seen"] != verdict["example"][-1]["step"]["expected"]


def test_a_parameter_can_have_another_name_or_be_the_inverse(here, module):
    words = ("conform", "mine:Inverse", "--as", "arow", "--set", "r=0.5")
    assert "Inverse needs d, gamma; a factory takes" in here.err(*words)
    out = here.out(*words, "--map", "r=gamma", code=1)
    assert "conforms with another convention" in out
    assert "allow it: --allow r-inverted" in out
    assert here(*words, "--map", "r=gamma", "--allow", "r-inverted")[0] == 0
    assert here(*words, "--map", "r=1/gamma")[0] == 0
    for name in ("step", "contestant"):
        assert f"{name} conforms to arow (r = 0.5)" in here.out("conform", f"mine:{name}", *words[2:])
    # A parameter that is built in has its value from --set.
    out = here.out("conform", "mine:step_at_half", *words[2:])
    assert "conforms to arow (r = 0.5)" in out
    assert "Note: it has no argument 'r', so only the exact learner gets r = 0.5;" in out
    assert "r = 1; choose" in here.out("conform", "mine:step_at_half", "--as", "arow", code=1)


def test_a_wrong_question_is_one_sentence_and_exit_code_two(here, module):
    arow, wrong = ("mine:Arow", "--as", "arow"), []
    for words, sentence in (
        ((), "name one subject and what it should be"),
        (("mine:Arow",), "name one subject and what it should be"),
        ((*arow, "--command", "x"), "name one subject"),
        (("mine:Arow", "--as", "arrow"), "unknown algorithm 'arrow' (did you mean 'arow'?)"),
        ((*arow, "--set", "r"), "--set r: it must be NAME=VALUE"),
        ((*arow, "--set", "r=-1"), "r must lie in (0, inf)"),
        ((*arow, "--map", "q=r"), "unknown parameter 'q'"),
        ((*arow, "--map", "r=gamma"), "it has no argument 'gamma'; its arguments are d, r, wrong"),
        ((*arow, "--set", "r=1", "--expose", "weights=mean"), "Arow has no attribute 'mean'"),
        (("mine:rule", "--as", "arow"), "`olbench algorithms --plugin FILE mine-rule --conform-to ID`"),
        (("mime:Arow", "--as", "arow"), "cannot import 'mime' (did you mean 'mine'?)"),
        (("mime.py:Arow", "--as", "arow"), "there is no file mime.py (did you mean 'mine'?)"),
        ((*arow, "--expose", "z=S"), "--expose z: it must be one of weights"),
        (("mine:Arrow", "--as", "arow"), "mine has no 'Arrow' (did you mean 'Arow'?)"),
        (("mine:number", "--as", "arow"), "number is not a class, a factory"),
        (("mine", "--as", "arow"), "'mine' is not of the form MODULE:OBJECT"),
        (("yours:Arow", "--as", "arow"), "cannot import 'yours': ModuleNotFoundError"),
        (("yours.py:Arow", "--as", "arow"), "there is no file yours.py"),
        ((*arow, "--data", "no-such-data"), "no-such-data"),
        ((*arow, "--allow", "anything"), "there is no convention 'anything'"),
    ):
        code, out, err = here("conform", *words)
        if (code, out, sentence in err, err.count("\n")) != (2, "", True, 1):
            wrong.append((words, code, err))
    assert wrong == []


def test_an_object_is_copied_and_data_sets_add_rounds(here, module):
    out = here.out(
        "conform", "sklearn.linear_model:Perceptron", "--as", "perceptron", "--data", "breast-cancer",
        "--rounds", "50", "--allow", "zero-is-mistake,bias-feature",
    )  # fmt: skip
    assert "conforms with another convention" in out
    out = here.out("conform", "mine:Arow", "--as", "arow", "--set", "r=0.5", "--data", "breast-cancer")
    assert "agrees in 1,144 rounds" in out


def test_a_rule_of_ones_own_is_compared_with_an_algorithm_at_several_values(here, module):
    out = here.out("algorithms", "--plugin", RULE, "timid-arow", "--conform-to", "arow", code=1)
    assert "timid-arow differs from arow (r = 1) in when it updates." in out
    assert "it conforms at r = 1 too" in here.out("algorithms", "arow", "--conform-to", "arow")
    out = here.out("algorithms", "--plugin", "mine.py", "mine-inverse", "--conform-to", "arow", code=1)
    assert "to arow (r = 0.4): it uses 1 / r where" in out
    assert "--allow" not in out
    out = here.out("algorithms", "--plugin", "mine.py", "mine-rule", "--conform-to", "arow", code=1)
    assert "it has no parameter r; arow has r = 1." in out
    learners = ("--plugin", ROOT / "docs/examples/my_learners.py", "weighted-arow")
    out = here.out("algorithms", *learners, "--conform-to", "arow", code=1)
    assert re.search(r"covariance +\([\d.]+\) +\([\d.]+\)", out), out
    assert "it is scw2-libol" in here.out("algorithms", "scw2-libol", "--conform-to", "scw2", code=1)
    assert here("algorithms", "--conform-to", "arow")[0] == 2


def test_the_catalogue_is_listed(here):
    _, _, _, *lines = here.out("conform", "--list").splitlines()
    assert [line.split()[1] for line in lines if line[0] != " "] == [each.id for each in CATALOGUE]
    out = here.out("conform", "--list", "--as", "pa")
    assert ("norm-with-bias" in out, "cdf-for-quantile" in out) == (True, False)
