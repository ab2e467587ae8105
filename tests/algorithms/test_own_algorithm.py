"""A user's own rule or object is a contestant like any other; the examples of the docs run."""

import json
import os
import re
import subprocess
import sys
import zlib
from dataclasses import replace
from importlib.metadata import version
from itertools import product
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from olbench import load_plugin, make_algorithm, online_pass, run, second_order, wrap
from olbench.algorithms import definitions, get_definition, probing
from olbench.algorithms.definition import REGISTRY
from olbench.learners import own_rules
from olbench.plugins import forget_file
from tests import ROOT
from tests.cases import for_each
from tests.examples import noisy
from tests.refusals import find_wrong, refusal

DOCS = ROOT / "docs"
RULE = DOCS / "examples" / "my_rule.py"
LEARNERS = DOCS / "examples" / "my_learners.py"
CONTESTANTS = DOCS / "examples" / "my_contestants.py"


@pytest.fixture
def examples():
    return noisy(n=300, d=6)


@pytest.fixture
def load_text(tmp_path):
    def load(text):
        (tmp_path / "mine.py").write_text(text)
        return load_plugin(tmp_path / "mine.py")

    yield load
    for module in {each.module for each in REGISTRY.values() if each.file == str(tmp_path / "mine.py")}:
        forget_file(module)


def test_the_documents_show_the_example_files():
    text = (DOCS / "own-algorithm.md").read_text().partition("## Three ways")[2]
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    shown = [block.strip() for block in blocks if "def " in block]
    files = [path.read_text() for path in (RULE, LEARNERS, CONTESTANTS)]
    assert len(shown) == 4
    assert all(any(block in file for file in files) for block in shown)


def test_a_rule_in_a_file_runs_like_a_built_in_one(examples):
    X, y = examples
    [definition] = load_plugin(RULE)
    assert load_plugin(str(RULE)) == [definition]
    assert definition in definitions()
    timid = online_pass(make_algorithm("timid-arow", margin=1.0), X, y)
    arow = online_pass(make_algorithm("arow"), X, y)
    assert (timid.mistakes, timid.updates) == (arow.mistakes, arow.updates)
    np.testing.assert_array_equal(timid.weights, arow.weights)
    assert online_pass(make_algorithm("timid-arow", margin=0.0), X, y).updates < arow.updates


CACHED = """
import json, sys, numpy as np, olbench
from olbench.kernels import covariance, diagonal, first_order, gram, rows
for path in sys.argv[1:]:
    olbench.load_plugin(path)
hits, loops = [], []
for id, options in [("timid-arow", {}), ("timid-arow", {"covariance": "diag"}), ("pa1", {}),
                    ("scw2", {"kernel": "rbf"}), ("my-adagrad", {}), ("weighted-arow", {}), ("ftrl", {})]:
    algorithm = olbench.make_algorithm(id, **options)
    olbench.online_pass(algorithm, np.eye(3), [1, -1, 1])
    rule = algorithm.definition.compiled_rule
    loops.append(rule) if algorithm.definition.order == "compiled" else hits.append(rule.cache_hits)
kernels = (*(module.run for module in (covariance, diagonal, first_order, gram)), rows.measure_norms, *loops)
found = [kernel._compiled.stats for kernel in kernels]
print(json.dumps([hits, [(len(each.cache_hits), len(each.cache_misses)) for each in found]]))
"""


def test_a_second_process_compiles_nothing():
    """Kernels, rules and compiled learners come from the cache on disk, for a user's own file too."""
    command = [sys.executable, "-c", CACHED, str(RULE), str(LEARNERS)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    hits, kernels = json.loads(done.stdout)
    assert (set(hits), set(map(tuple, kernels))) == ({1}, {(1, 0)})


PRINTS = """import olbench, sys, numpy as np
from olbench import compiled_learner, first_order
@first_order("printing")
def printing(m, s, mistake, q, t, k, p):
    if t == 60: print(t, p)
    if t > 60: raise ValueError(f"round {t}")
    return 0.0, 1.0, 0.0
@compiled_learner("printing-learner", arrays={"w": "1"})
class Learner:
    def score(arrays, columns, values, t, p): return 0.0
    def learn(arrays, columns, values, y, t, p):
        if t == 60: print(arrays.w)
        if t > 60: arrays.w[t] = 1.0
        return 0
if __name__ == "__main__":
    X, y = np.ones((60, 1)), np.ones(60)
    olbench.online_pass("printing-learner", np.ones((int(sys.argv[1]), 1)), np.ones(int(sys.argv[1])))
    olbench.online_pass("printing", np.tile(X, (2, 1)), np.ones(120))
"""


def test_what_has_just_been_compiled_may_print_and_format_a_message(tmp_path):
    """Code that numba gave no environment kept the GIL, and the process hung."""
    file = tmp_path / "printing.py"
    file.write_text(f"{PRINTS}# {tmp_path}")
    for _ in ("compiled", "from the cache"):
        done = subprocess.run([sys.executable, file, "60"], capture_output=True, text=True, timeout=300)
        assert done.stdout == "[0.]\n60 []\n"
        assert f"{file}:6: the rule of 'printing' fails during a pass: ValueError: round 61" in done.stderr
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run([sys.executable, file, "61"], capture_output=True, text=True, env=checked)
    assert f"{file}:11: the rule of 'printing-learner' fails during a pass: IndexError" in done.stderr


def test_an_installed_package_offers_its_algorithms(tmp_path):
    (tmp_path / "my_rules.py").write_text(RULE.read_text().replace("timid-arow", "packaged-arow"))
    info = tmp_path / "my_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[olbench.algorithms]\nmine = my_rules\n")
    done = subprocess.run(
        [sys.executable, "-m", "olbench", "algorithms", "packaged-arow"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("packaged-arow: Timid AROW (second order)")


def test_contestants_from_elsewhere_learn(examples):
    """Two implementations of PA-I make the same mistakes, but for the sign of zero on the first round."""
    pytest.importorskip("river", reason="River is not installed")
    load_plugin(CONTESTANTS)
    sgd = online_pass(make_algorithm("my-sgd-logistic"), *examples)
    assert sgd.updates == sgd.n == 300
    assert sgd.mistake_rate < 0.4
    ours = online_pass(make_algorithm("pa1", C=0.5), *examples)
    sklearns = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=0.5, fit_intercept=False)
    for theirs in (make_algorithm("my-river-pa1", C=0.5), wrap(sklearns)):
        result = online_pass(theirs, *examples)
        assert result.updates == 300
        assert abs(result.mistakes - ours.mistakes) <= 1
        np.testing.assert_allclose(result.weights, ours.weights, rtol=1e-9)


def test_run_json_has_the_versions_of_the_libraries_of_its_learners(tmp_path):
    pytest.importorskip("river", reason="River is not installed")
    online, crossval = {"permutations": 1}, {"protocol": "crossval", "folds": 2}
    for settings, id in (online, "my-river-pa1"), (online, "my-sgd-logistic"), (crossval, "naive-bayes"):
        config = {**settings, "plugins": [str(CONTESTANTS)], "datasets": ["digits-1-vs-7"]}
        versions = run({**config, "algorithms": [id]}, tmp_path / id, jobs=1).run.versions
        assert {name: version(name) for name in ("river", "scikit-learn")}.items() <= versions.items()


def test_an_algorithm_says_what_kind_it_is(here):
    kinds = {
        "arow": "second order",
        "ftrl": "compiled learner",
        "svm": "batch learner",
        "adviceptron": "advice",
    }
    for id, kind in kinds.items():
        assert here.out("algorithms", id).splitlines()[0].endswith(f" ({kind})")


ONE = "from olbench import Parameter, contestant, second_order\n@second_order({}, parameters=({}))\n"
ONE += "def one(m, v, mistake, t, p): return 0.0, 0.0, 0.0\n"
TWICE = "@contestant('mine-one')\ndef two(): return object()\n"
LEARNER = "from olbench import compiled_learner\n@compiled_learner('mine-one', arrays={})\nclass One:\n"
LEARNER += "    def score(arrays, columns, values, t, p): return 0.0\n"
MUTE = "class Mute(Exception):\n    def __str__(self): raise RuntimeError\nraise Mute"
REFUSED_FILES = [
    ("x = 1 +", ":1: the plugin failed: SyntaxError: invalid syntax"),
    ("import mine_too", "mine.py:1: the plugin failed: SyntaxError: invalid syntax (mine_too.py, line 2)"),
    ("import nothing_like_this", "'nothing_like_this'; install it, or put its folder on PYTHONPATH, even if"),
    ("\n\n1 / 0", ":3: the plugin failed: ZeroDivisionError"),
    (MUTE, ":3: the plugin failed: Mute: its message cannot be shown"),
    # `olbench check` must not pass because a plugin ended it before anything was compared.
    ("import sys\nsys.exit(0)", ":2: the plugin failed: SystemExit: 0"),
    ("\nraise KeyboardInterrupt", ":2: the plugin failed: KeyboardInterrupt"),
    (ONE.format("'arow'", ""), "an algorithm named 'arow' already exists"),
    # The second of two rules with one id would win without a word.
    (ONE.format("'mine-one'", "") + TWICE, ":4: this file defines the algorithm 'mine-one' a second time"),
    (
        ONE.format("'mine-one'", "Parameter('r', 1.0, ''), Parameter('r', 2.0, '')"),
        ":2: 'mine-one' has two parameters named 'r'; rename one of them",
    ),
    *(
        (ONE.format(repr(id), ""), f":2: an algorithm cannot be named {id!r}; use a word")
        for id in ("", 5, ["a"], "a,b", "a\n")
    ),
    (ONE.format("'mine-one'", "Parameter('', 1.0, ''),"), ":2: a parameter cannot be named ''; use a word"),
    (ONE.format("'mine-one'", "Parameter('a', 0.5, ''),"), "mine-one: a parameter cannot be named a"),
    (
        ONE.format("'mine-one'", "Parameter('r', 1.0, '', grid=(1.0, -2.0)),"),
        ":2: mine-one, its default or grid: r must lie in (0, inf), not -2.0",
    ),
    (
        ONE.format("'mine-one'", "'r',"),
        ":2: 'mine-one' has a parameter 'r'; use Parameter('r', default, doc)",
    ),
    (ONE.replace("({}, parameters=({}))", ""), ":2: the decorator of an algorithm needs an id, such as"),
    (ONE.format("'mine-one', params=()", ""), ":2: 'mine-one' has an unknown keyword 'params' (did you mean"),
    (
        LEARNER.format("{'w': 'n'}") + "    def learn(): pass",
        "mine.py:2: 'mine-one': the array w must have one of the shapes",
    ),
    (LEARNER.format("{'w': 'd'}"), "mine.py:2: 'mine-one' needs a function learn(arrays,"),
    (LEARNER.format("{}, traitz=1"), "mine.py:2: 'mine-one' has an unknown keyword 'traitz'"),
]


def test_files_that_are_refused(load_text, tmp_path, monkeypatch):
    (tmp_path / "mine_too.py").write_text("\nx = 1 +")
    monkeypatch.syspath_prepend(tmp_path)

    def load(text):
        try:
            load_text(text)
        finally:  # nothing of a file that fails is left
            assert not {"mine-one"} & {each.id for each in definitions()}

    assert find_wrong(REFUSED_FILES, load) == []
    # The file may be written again in the same place.
    assert [each.id for each in load_text(ONE.format("'mine-one'", ""))] == ["mine-one"]
    (tmp_path / "mine.txt").write_text("")
    paths = [
        (tmp_path / "mine.txt", "mine.txt must be a Python file (.py)"),
        (tmp_path / "nowhere.py", f"there is no plugin file {tmp_path / 'nowhere.py'}"),
        ("no\ud800.py", "there is no plugin file"),
    ]
    assert find_wrong(paths, load_plugin) == []


MINE = """import math; seen = {{}}; from olbench import Parameter, second_order

@second_order("{id}", parameters=(Parameter("r", 1.0, "how much to regularise"),))
def mine({takes}):
    \"\"\"Learn.\"\"\"
    {body}

import numba, numpy
TABLE, ARRAY = (1.0, 2.0), numpy.array([1.0, 0.5])
read = numba.njit(lambda p, i: p[i])
pair = numba.njit(lambda r: (r,))
def plain(r): return r
"""
FORM = r"\(m, v, mistake, t, p\) -> \(loss, alpha, c\)"
REFUSED_RULES = [
    ("return p[3], 0.1, 0.1", ":6: the rule of 'ID' fails: IndexError: index 3 is out of bounds for axis 0"),
    ("return read(p, t), 0.1, 0.1", "mine.py:10: the rule of 'ID' fails: IndexError: index 1 is out"),
    ("a, b = p; return 1.0, 0.1, b", ":6: the rule of 'ID' fails in every round .*: ValueError: not enough"),
    ("p[0] = 5.0; return 1.0, 0.1, 0.1", ":6: the rule of 'ID' fails in every round .*: .* is read-only"),
    ("a, b = pair(p[0]); return 1.0, a, b", ":6: the rule of 'ID' fails in every round .*: ValueError: not "),
    ("return TABLE[t], 0.1, 0.1", ":6: the rule of 'ID' fails: IndexError: "),
    ("return math.sqrt(-1.0 - abs(m)), 0.1, 0.1", ":6: the rule of 'ID' fails in every round that was tried"),
    (
        "return max(0.0, 1.0 - m), 0.1, -0.5",
        "mine.py:3: the rule of 'ID' returns c = -0.5 at m = .* not be neg",
    ),
    ("return 1.0, 0.5", f"returns 2 values; it must be {FORM}"),
    ("return 1.0", f"returns one value, 1.0; it must be {FORM}"),
    ("if m < 0.2: return 0.0, 0.0, 0.0", rf"returns nothing at m = 0\.3; it must be {FORM}"),
    ("return los, 0.5, 0.5", "mine.py:6: the rule of 'ID' fails: NameError: name 'los' is not"),
    ("return 'a', 0.5, 0.5", rf"returns \('a', 0.5, 0.5\); it must be {FORM}"),
    ("seen[t] = m; return 1.0, 0.5, 0.5", "mine.py:6: the rule of 'ID' does not compile: Untyped"),
    ("print(f'{m:.3f}'); return 1.0, 0.5, 0.5", "mine.py:6: the rule of 'ID' does not compile: format spec"),
    ("global n; n = t; return 1.0, 0.5, 0.5", "mine.py:6: the rule of 'ID' does not compile: Use of unsup"),
    ("return 1.0, plain(m), 0.5", "mine.py:6: .* <class 'function'>; decorate it with @numba.njit$"),
    ("raise RuntimeError('no')", "mine.py:6: the rule of 'ID' fails: RuntimeError: no$"),
    ("assert t < 2; return 1.0, 0.5, 0.5", "mine.py:6: the rule of 'ID' fails: AssertionError"),
    ("return 1.0, 1.0, 1.0", rf"takes \(m, v, p\); it must be {FORM}", "m, v, p"),
]


@pytest.fixture
def load_rule(tmp_path):
    """Return a function that loads a rule with a body from a new file, and gives its id."""

    def load(body, takes="m, v, mistake, t, p"):
        id = f"mine-{zlib.crc32(body.encode())}"
        (tmp_path / id).mkdir()
        (tmp_path / id / "mine.py").write_text(MINE.format(id=id, takes=takes, body=body))
        load_plugin(tmp_path / id / "mine.py")
        return id

    return load


def test_a_rule_that_reads_or_returns_what_it_should_not_is_refused(load_rule):
    failures = []
    for body, message, *takes in REFUSED_RULES:
        id = load_rule(body, *takes)
        said = refusal(online_pass, make_algorithm(id), *noisy(20, 3))
        if not re.search(message.replace("ID", id), said):
            failures.append((body, said))
    assert failures == []


def test_a_rule_may_unpack_its_parameters_and_leave_a_number_undefined(load_rule):
    for body in (
        "r, = p; return max(0.0, 1.0 - m), 0.1 / r, 0.1",
        "return (m < 0.0), 0.1 / (m - m), math.sqrt(m)",
        "return max(0.0, 1.0 - m), math.log(v) / p[-1], 0.1",
    ):
        assert online_pass(make_algorithm(load_rule(body)), *noisy(20, 3)).n == 20
    nonsense = online_pass(make_algorithm(load_rule("return 1.0, (m - m) / (v - v), 1.0")), *noisy(20, 3))
    assert (nonsense.breakdowns, nonsense.weights.any()) == (20, False)


def test_a_rule_may_be_decorated_with_njit():
    rule = get_definition("arow").rule
    assert second_order("decorated")(numba.njit(rule)).rule is rule


LATE = [
    ("i = 0 if t < 200 else 1000; return max(0.0, 1.0 - m), 0.1 * p[i], 0.1", 3, "IndexError: index is out"),
    ("k = 0 if t < 200 else t; return max(0.0, 1.0 - m), ARRAY[k], 0.1", 3, "IndexError: index is out"),
    ("assert t < 200; return max(0.0, 1.0 - m), 0.5, 0.5", 6, "AssertionError"),
]


def test_what_the_trial_calls_do_not_reach_fails_during_the_pass(load_rule):
    """Without bounds checks it would read stray memory, and exit 0 with a plausible rate."""
    X, y = noisy(300, 3)
    for body, line, message in LATE:
        id = load_rule(body)
        assert online_pass(id, X[:199], y[:199]).n == 199
        said = refusal(online_pass, id, X, y)
        assert f"mine.py:{line}: the rule of '{id}' fails during a pass: {message}" in said


PROMISES = """from olbench import Parameter, first_order, second_order
def step(m, v, p): return 1.0, 0.1, 0.1, 0.1, 0.1, p[7]
@second_order("mine-exact", exact=step)
def exact(m, v, mistake, t, p): return 1.0, 0.1, 0.1
@first_order("mine-passive", passive_above=lambda: 1.0)
def passive(m, s, mistake, q, t, k, p): return (1.0, 1.0, 0.1) if m < 6.0 else (0.0, 1.0, 0.0)
@first_order("mine-renamed", parameters=(Parameter("C", 1.0, ""),), passive_above=lambda r: 1.0)
def renamed(m, s, mistake, q, t, k, p): return 0.0, 1.0, 0.0
@first_order("mine-constants", parameters=(Parameter("C", 1.0, ""),), constants=lambda C: 1 / (C - 1))
def failing(m, s, mistake, q, t, k, p): return 0.0, 1.0, 0.0
"""


def test_the_rule_of_an_exact_step_and_a_promise_to_be_passive_are_checked_too(load_text):
    load_text(PROMISES)
    options = {"covariance": "diag", "projection": "exact"}
    said = refusal(online_pass, make_algorithm("mine-exact", **options), *noisy(20, 3))
    assert "mine.py:3: the rule of 'mine-exact' fails during a pass: IndexError" in said
    assert (
        "mine.py:5: the rule of 'mine-passive' is declared passive above a margin of 1, but at 5 it returns "
        "(1.0, 1.0, 0.1); passive is (0.0, 1.0, 0.0)"
    ) in refusal(online_pass, make_algorithm("mine-passive"), *noisy(20, 3))
    for id, words in (
        ("mine-renamed", "mine.py:7: passive_above of 'mine-renamed', which gets (C), fails: TypeError: "),
        ("mine-constants", "mine.py:9: constants of 'mine-constants', which gets (C), fails: ZeroDivision"),
    ):
        assert words in refusal(online_pass, id, *noisy(20, 3))


BROKEN = """from olbench import Parameter, first_order, second_order
R = Parameter("r", 1.0, "", grid=(0.5, 2.0))
@first_order("near", passive_above=lambda: 1.5)
def near(m, s, mistake, q, t, k, p): return (1.0, 1.0, 0.1) if m < 1.6 else (0.0, 1.0, 0.0)
@first_order("other", parameters=(R,), passive_above=lambda r: 1.0)
def other(m, s, mistake, q, t, k, p): return (1.0, 1.0, 0.1) if m < p[0] else (0.0, 1.0, 0.0)
@second_order("falling", monotone=True)
def falling(m, v, mistake, t, p):
    loss = max(0.0, 1.0 - m - 0.3 * v)
    return loss, loss / (v + 1.0), (loss > 0.0) * 1.0
@second_order("rising", monotone=True, parameters=(R,))
def rising(m, v, mistake, t, p):
    loss = max(0.0, 1.0 - m + (1.0 - p[0]) * v)
    return loss, loss / (v + 1.0), (loss > 0.0) * 1.0
@second_order("scaled", scale_free=True, form="root", parameters=(R,))
def scaled(m, v, mistake, t, p):
    loss = 1.0 - m
    return (loss, loss / (v + p[0]), 1.0 / p[0]) if loss > 0.0 else (0.0, 0.0, 0.0)
@first_order("far", passive_above=lambda: 1.0)
def far(m, s, mistake, q, t, k, p): return (1.0, 1.0, 0.1 / s) if m < 1.0 or m > 500.0 else (0.0, 1.0, 0.0)
@second_order("gain", parameters=(R,))
def gain(m, v, mistake, t, p):
    c = 1.0 if p[0] == 1.0 else 1.0 / (p[0] + v)
    return (1.0 - m, (1.0 - m) / (v + 1.0), c) if m < 1.0 else (0.0, 0.0, 0.0)
"""
PROMISED = [
    ("near", "is declared passive above a margin of 1.5, but at 1.5"),
    ("other", "is declared passive above a margin of 1 with r=2.0, but at 1.1"),
    ("falling", "is declared monotone, but at m = -2 its loss falls from"),
    ("rising", "is declared monotone, but at m = -2 with r=2.0 its loss falls from"),
    ("scaled", "is declared scale-free, but at m = -2, v = 0.01 it returns (3.0, "),
]


def test_promises_are_checked_at_other_parameters_and_margins_and_on_the_data(load_text):
    """A wrong promise skips rounds, and the counts are those of another rule."""
    load_text(BROKEN)
    X, y = noisy(300, 5)
    for id, words in PROMISED:
        assert words in refusal(online_pass, make_algorithm(id), X, y), id
    said = refusal(make_algorithm, "gain", multiclass="native")
    assert (
        "gain has no native form for several classes: the precision c that its rule adds depends on" in said
    )
    # Only the rows of this data have margins at which the promise is broken.
    assert online_pass("far", X, y).n == 300
    get_definition("far").compared.clear()
    large = np.vstack([X[:20], 1e5 * X[20:]])
    assert "is declared passive above a margin of 1, but at " in refusal(online_pass, "far", large, y)
    get_definition("far").compared.clear()
    assert "but at " in refusal(online_pass, "far", large, y, labels="all")


@for_each("definition", [each for each in definitions() if each.order in ("first", "second")])
def test_what_ships_keeps_its_promises_over_all_parameters(definition):
    mine = replace(definition)
    vars(mine)["is_own"] = True
    settings = list(probing._settings(mine))
    assert len(settings) > 12 or not definition.parameters
    for params in settings:
        probing.check_promises(mine, params, product(np.linspace(-3.0, 3.0, 7), (0.01, 1.0, 40.0)))


def test_a_rule_may_return_whole_numbers_and_floats_in_different_branches(load_rule):
    """All become doubles, whatever the types of the tuple."""
    id = load_rule("return (1, (1 - m) / (1 + v), 1) if mistake else (0, 0, 0)")
    mine, sop = (online_pass(make_algorithm(each), *noisy(200, 5)) for each in (id, "sop"))
    assert mine.mistakes == sop.mistakes > 0
    np.testing.assert_array_equal(mine.weights, sop.weights)


def test_a_rule_of_the_wrong_form_is_refused_before_the_first_trial(tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.py").write_text(
        "from olbench import first_order\n@first_order('short')\ndef short(m, s): return 1.0, 1.0, 1.0\n"
    )
    run_it = ("run", "breast-cancer", "--algorithms", "short", "--out", "out")
    for words in (run_it, ("algorithms",), ("algorithms", "short")):
        code, out, err = here(*words, "--plugin", "short.py")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "short.py:2: the rule of 'short' takes (m, s); it must be (m, s, mistake, q, t, k, p)" in err
    assert not (tmp_path / "out" / "trials.jsonl").exists()


def test_a_notebook_may_define_a_rule_again():
    for loss in (0.0, 1.0):

        @second_order("mine-cell")
        def cell(m, v, mistake, t, p, loss=loss):
            return loss, 0.0, 0.0

    assert get_definition("mine-cell") is cell
    del REGISTRY["mine-cell"]


GAMMA = """
from olbench import Parameter, second_order

@second_order("scaled", parameters=(Parameter("gamma", 1.0, "regularisation"),))
def scaled(m, v, mistake, t, p):
    '''Learn as AROW does.'''
    return (1.0 - m, (1.0 - m) / (v + p[0]), 1.0 / p[0]) if m < 1.0 else (0.0, 0.0, 0.0)
"""


def test_a_parameter_may_be_named_as_that_of_a_kernel_where_there_is_no_kernel(
    load_text, examples, tmp_path, here, monkeypatch
):
    load_text(GAMMA)
    scaled = online_pass(make_algorithm("scaled", gamma=2.0), *examples)
    np.testing.assert_array_equal(scaled.weights, online_pass("arow", *examples, r=2.0).weights)
    assert "scaled cannot run with a kernel: gamma is al" in refusal(make_algorithm, "scaled", kernel="rbf")
    monkeypatch.chdir(tmp_path)
    out = here.out("algorithms", "--plugin", "mine.py", "scaled")
    assert re.search(r"parameter +gamma = 1", out)
    assert "kernel" not in out
    text = "datasets: [breast-cancer]\nplugins: [mine.py]\npermutations: 2\nalgorithms: [{id: scaled, %s}]\n"
    (tmp_path / "mine.yaml").write_text(text % "gamma: 2")
    sentence = "mine.yaml:4: gamma is a parameter of scaled; write params: {gamma: ...}"
    assert sentence in here.err("run", "mine.yaml")
    (tmp_path / "mine.yaml").write_text(text % "params: {gamma: 2}")
    assert "gamma=2" in here.out("run", "mine.yaml")


COMPILE = """
import sys
from numba import float64
from olbench import load_plugin
from olbench.kernels.compile import rule
for path in sys.argv[1:]:
    load_plugin(path)
    module = next(each for each in sys.modules.values() if getattr(each, "__file__", "") == path)
    compiled = rule(float64(float64), module.scale)
    print(compiled.ctypes(4.0), compiled.cache_hits)
"""


def test_compiled_rules_stay_out_of_the_folder_of_their_file_and_notice_its_edits(tmp_path):
    files = [tmp_path / folder / "mine.py" for folder in "ab"]
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OLBENCH_CACHE": str(tmp_path / "cache")}
    for name in ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)

    def write(file, factor):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"def scale(x):\n    return {factor} * x\n")
        os.utime(file, (1e9, 1e9))  # an edit in the same instant, or a clock that went back

    def compile_both(**more):
        command = [sys.executable, "-c", COMPILE, *map(str, files)]
        return subprocess.run(
            command, env={**environment, **more}, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.split()

    write(files[0], 2)
    write(files[1], 3)
    assert compile_both() == ["8.0", "0", "12.0", "0"]
    write(files[0], 5)
    assert compile_both() == ["20.0", "0", "12.0", "1"]
    # Numba runs what it finds in a folder, so one that others can write to is not used.
    (tmp_path / "cache" / "compiled").chmod(0o777)
    assert compile_both() == ["20.0", "0", "12.0", "0"]
    assert compile_both(OLBENCH_CACHE="/dev/null/nowhere") == ["20.0", "0", "12.0", "0"]
    assert [list(file.parent.iterdir()) for file in files] == [[file] for file in files]


def test_passes_listen_to_errors_only_while_they_run(monkeypatch):
    others, other = [], SimpleNamespace(object="not of the compiler")
    monkeypatch.setattr(sys, "unraisablehook", others.append)
    mine, arow = sys.unraisablehook, get_definition("arow")
    first, second = own_rules.raise_errors(arow), own_rules.raise_errors(arow)
    with first:
        second.__enter__()  # one that goes on in another thread
        sys.unraisablehook(other)
    assert sys.unraisablehook is own_rules._hear
    second.__exit__(None, None, None)
    assert sys.unraisablehook is mine
    assert others == [other]
    with own_rules.raise_errors(arow):
        sys.unraisablehook = print  # what somebody sets meanwhile stays
    assert sys.unraisablehook is print
