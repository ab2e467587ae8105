"""check names the cause: other data, another seed, other parameters, or the code."""

import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from olbench.analysis.check import Baseline, Row, compare
from olbench.plugins import forget_file
from olbench.protocols.online import Online, OnlineExperiment

pytestmark = pytest.mark.usefixtures("own_folder")

RULE = """\
from olbench import Parameter, first_order


@first_order("check-sgd", parameters=(Parameter("eta", 0.5, "the length of a step"),))
def step(m, s, mistake, q, t, k, p):
    '''Step.'''
    return max(0.0, 1.0 - m), 1.0, {tau}
"""
CONFIG = """\
seed: 3
permutations: 3
datasets: [{{name: ok, path: ok.csv}}]
algorithms: [perceptron, {{id: check-sgd, name: my-sgd, params: {{eta: {eta}}}}}]
plugins: [rule.py]
"""


def write_data(flipped=0):
    random = np.random.default_rng(5)
    rows = random.normal(size=(90, 3))
    labels = np.where(rows @ [2.0, -1.0, 0.5] > 0, 1, 0)
    labels[:flipped] = 1 - labels[:flipped]
    lines = [",".join(f"{x:.6f}" for x in row) + f",{label}" for row, label in zip(rows, labels, strict=True)]
    Path("ok.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n")


def write_rule(tau="p[0] if m < 1.0 else 0.0", eta=0.5):
    Path("rule.py").write_text(RULE.format(tau=tau))
    Path("my.yaml").write_text(CONFIG.format(eta=eta))


@contextmanager
def edited():
    """Give the content of the baseline, and write it with the changes made to it."""
    content = json.loads(Path("base.json").read_text())
    yield content
    Path("base.json").write_text(json.dumps(content))


@pytest.fixture
def check(here):
    """A repository of one's own with a baseline, and its check."""
    write_data()
    write_rule()
    words = ("check", "my.yaml", "--against", "base.json", "--quiet", "--jobs", 1)

    def run(*more):
        try:
            return here(*words, *more)
        finally:  # a user's next command is a new process
            for module in [name for name in sys.modules if name.startswith("olbench_plugin_rule_")]:
                forget_file(module)

    assert run("--update")[0] == 0
    return run


def test_a_rule_that_became_worse_is_a_regression(check):
    assert check() == (0, "12 counts compared, 0 changed\n", "")
    write_rule(tau="-p[0] if m < 1.0 else 0.0")
    code, out, err = check()
    assert code == 1
    line, summary = out.splitlines()
    assert line.startswith("my-sgd on ok: its code changed; mistake rate ")
    assert line.endswith(", worse (3 of 3 permutations changed)")
    assert summary == "12 counts compared, 6 changed; of the results, 1 worse"
    assert err == "if this is intended: --update writes the new counts\n"
    write_rule(tau="2.0 * p[0] if m < 1.0 else 0.0")
    assert check("--tolerance", 1, "--only", "mistake_rate")[:2] == (0, "6 counts compared, 0 changed\n")
    assert check("--tolerance", 1)[0] == 1  # updates are a count
    assert check("--tolerance", 1, "--only", "updates, mistake_rate")[0] == 1
    code, _, err = check("--only", "mistake-rate")
    assert code == 2
    assert "there is no 'mistake-rate' to compare (did you mean 'mistake_rate'?)" in err


def test_a_tolerance_is_in_the_unit_of_each_quantity(check):
    measured = ("--set", "measures=[auc, f1, mistake_rate]")
    assert check(*measured, "--update")[0] == 0
    baseline = Path("base.json").read_text()
    for name, tolerated, allowed in (("auc", 0.01, 0.02), ("f1", 0.01, 0.02), ("mistakes", 1, 1 / 89)):
        Path("base.json").write_text(baseline)
        with edited() as content:
            content["rows"][0][name][0] -= tolerated
        assert check(*measured, "--tolerance", allowed)[0] == 0, name
        assert check(*measured, "--tolerance", allowed / 3)[0] == 1, name


def make_baseline(**values):
    counts = {name: [value] for name, value in values.items()}
    return Baseline((Row(dataset="d", algorithm="a", fingerprint="", n=100, counts=counts),), "online", 1)


@pytest.mark.parametrize(("before", "now"), [(0.92, 0.91), (0.91, 0.92), (0.07, 0.06), (0.5, 0.49)])
def test_a_change_of_exactly_the_tolerance_passes_and_a_larger_one_fails(before, now):
    protocol = Online(OnlineExperiment((), (), measures=("auc",)))
    sides = [make_baseline(auc=value) for value in (before, now)]
    assert compare(*sides, protocol, 0.01).changed == 0
    assert compare(*sides, protocol, 0.0099999).changed == 1


def test_a_tolerance_in_percent_is_as_many_mistakes_of_a_hundred():
    for percent in range(1, 100):
        sides = [make_baseline(mistakes=number) for number in (percent, 0)]
        assert compare(*sides, Online(), percent / 100).changed == 0
        assert compare(*sides, Online(), (percent - 0.01) / 100).changed == 1


def test_what_may_differ_in_its_last_digits_is_compared_up_to_them(check):
    measured = ("--set", "measures=[mistake_rate, log_loss]", "--set", "algorithms=[perceptron, arow]")
    assert check(*measured, "--update")[0] == 0
    for factor, code in ((1 + 1e-12, 0), (1 + 1e-7, 1)):
        with edited() as content:
            loss = content["rows"][1]["log_loss"]
            content["rows"][1]["log_loss"] = [factor * each for each in loss]
        assert check(*measured)[0] == code
        assert check(*measured, "--only", "log_loss")[0] == code
    assert re.search(r"arow on ok: log loss 0\.\d+ -> 0\.\d+, changed \(3 of 3", check(*measured)[1])
    with edited() as content:
        del content["rows"][1]["log_loss"]
    code, out, _ = check(*measured)
    assert code == 0
    assert out.startswith("arow on ok: log loss not in the baseline, so not compared; add it with --update\n")


@pytest.mark.parametrize("name", ["base.json", "my.yaml", "rule.py", "ok.csv"])
def test_the_output_replaces_nothing_that_is_read(check, name):
    before = Path(name).read_bytes()
    Path("link").symlink_to(name)
    for output in (name, "link"):
        code, _, err = check("-o", output)
        assert (code, "is read by this command; choose another file" in err) == (2, True)
    assert Path(name).read_bytes() == before


def test_changed_data_and_another_seed_are_said_to_be_that(check):
    code, out, _ = check("--set", "seed=4")
    assert code == 4
    cause = "the seed changed: 3 -> 4; other orders give other counts, so nothing was compared\n"
    assert out == cause + "0 counts compared, 0 changed\n"
    write_data(flipped=10)
    write_rule(tau="-p[0]")
    code, out, _ = check()
    assert code == 4
    line, summary = out.splitlines()
    assert line.startswith("ok: the data or its preparation changed (fingerprint ")
    assert line.endswith("; 2 results not compared")
    assert summary == "0 counts compared, 0 changed"


def test_other_parameters_are_said_to_be_that(check):
    Path("my.yaml").write_text(CONFIG.format(eta=0.001).replace("perceptron", "{id: pa1, name: perceptron}"))
    code, out, _ = check()
    assert code == 1
    assert "perceptron on ok: the parameters changed (C none -> 1); mistake rate" in out
    assert "worse" not in out
    with edited() as content:
        content["rows"][0] |= {"params": {"C": 1.0}, "grid": {"C": [1.0, 2.0]}}
    assert "the parameters changed (grid of C [1.0, 2.0] -> none)" in check()[1]


def test_what_the_tuning_chooses_is_no_cause(here):
    text = (
        "permutations: 2\ndatasets: [digits-1-vs-7]\nalgorithms: [{id: pa1, grid: {C: [0.001, 1.0]}}]\n"
        "tuning: {search: grid}\n"
    )
    Path("tuned.yaml").write_text(text)
    words = ("check", "tuned.yaml", "--against", "base.json", "--quiet")
    assert here(*words, "--update")[0] == 0
    with edited() as content:
        chosen = content["rows"][0]["params"]["C"]
        content["rows"][0] |= {"params": {"C": 7.0}, "mistakes": [1, 1]}
        content["versions"]["numpy"] = "1.0"
    out = here.out(*words, code=1)
    assert f"worse (2 of 2 permutations changed); the tuning now chooses C 7 -> {chosen:g}\n" in out
    assert "other versions than in the baseline: numpy 1.0 -> " in out


def test_missing_results_are_apart(check):
    code, out, _ = check("--set", "permutations=2")
    assert code == 1
    assert out.splitlines()[:2] == [
        "perceptron on ok: 1 permutation missing now", "my-sgd on ok: 1 permutation missing now",
    ]  # fmt: skip
    assert check("--set", "permutations=4")[:2] == (0, "12 counts compared, 0 changed\n")
    code, out, _ = check("--set", "algorithms=[perceptron]")
    summary = "6 counts compared, 0 changed; of the results, 1 missing\n"
    assert (code, out) == (1, f"my-sgd on ok: missing now\n{summary}")


def test_a_baseline_of_another_format_is_refused(check):
    for other, reason in ((1, "its format is 1, and this olbench reads 2"), (None, "baseline.format: ")):
        with edited() as content:
            content["format"] = other
        assert f"base.json is not a baseline: {reason}" in check()[2]
    with edited() as content:
        for _ in range(480):
            content["versions"] = {"deeper": content["versions"]}
    assert "base.json is not a baseline; --update writes one" in check()[2]


def test_an_improvement_is_named_apart_and_can_be_allowed(check):
    with edited() as content:
        for name, change in (("mistakes", [9, 0, 9]), ("updates", [1, 1, 0])):
            row = content["rows"][1]
            row[name] = [a + b for a, b in zip(row[name], change, strict=True)]
    code, out, err = check()
    assert code == 1
    assert out.endswith("12 counts compared, 4 changed; of the results, 1 better\n")
    assert err.endswith("--update writes the new counts, or --allow-better accepts improvements\n")
    assert check("--format", "github")[1].startswith("::warning file=rule.py,line=4,")
    code, out, err = check("--allow-better")
    assert (code, err) == (0, "")
    assert ", better (3 of 3 permutations changed)\n" in out
    assert check("--allow-better", "--format", "github")[1].startswith("::notice file=rule.py,line=4,")
    [finding] = json.loads(check("--allow-better", "--format", "json")[1])["findings"]
    assert finding["fails"] is False
    with edited() as content:
        content["rows"][0]["mistakes"][0] -= 1
    code, out, err = check("--allow-better")
    assert (code, err) == (1, "if this is intended: --update writes the new counts\n")
    assert out.startswith("perceptron on ok: ")


def test_an_annotation_is_where_the_cause_is(check):
    def annotated(*words):
        lines = check("--format", "github", *words)[1].splitlines()
        return [line.partition(",title=")[0] for line in lines[:-1]]

    write_data(flipped=10)
    assert annotated() == ["::error file=ok.csv,line=1"]
    write_data()
    assert annotated("--set", "seed=4") == ["::error file=my.yaml,line=1"]
    text = CONFIG.format(eta=0.01).replace("algorithms: [perceptron, ", "algorithms:\n- perceptron\n- ")
    Path("my.yaml").write_text(text.replace("}]\nplugins", "}\nplugins"))
    assert annotated() == ["::error file=my.yaml,line=6"]
    with edited() as content:
        content["rows"][0]["mistakes"] = [0, 0, 0]
    assert annotated()[1] == "::error file=my.yaml,line=5"


def test_every_format_says_the_same(check):
    write_rule(tau="-p[0]")
    text = check()[1].splitlines()[0]
    code, out, _ = check("--format", "json")
    content = json.loads(out)
    [finding] = content["findings"]
    assert (code, finding["kind"], finding["message"]) == (1, "worse", text)
    assert finding["shifts"][0]["before"] < finding["shifts"][0]["now"]
    assert check("--format", "junit", "-o", "check.xml")[:2] == (1, "")
    suite = ElementTree.parse("check.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite] == ["perceptron", "my-sgd"]
    assert suite[1][0].get("message") == text
    out = check("--format", "github")[1].splitlines()
    assert out[0] == f"::error file=rule.py,line=4,title=olbench check::{text.replace('%', '%25')}"
    write_data(flipped=3)
    suite = ElementTree.fromstring(check("--format", "junit")[1])
    assert (suite.get("failures"), suite.get("skipped"), suite[2].get("name")) == ("1", "2", "the data")
