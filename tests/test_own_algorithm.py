"""A user's own rule or object is a contestant like any other; the examples of the docs run."""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.linear_model import SGDClassifier

from olbench import UserError, load_plugin, make_algorithm, online_pass, second_order, wrap
from olbench.algorithms import definitions, get_definition
from olbench.algorithms.definition import REGISTRY
from olbench.engine.executors.worker import _unload
from tests.examples import noisy

DOCS = Path(__file__).parent.parent / "docs"
RULE = DOCS / "examples" / "my_rule.py"
RICHER_RULES = DOCS / "examples" / "my_richer_rules.py"
CONTESTANTS = DOCS / "examples" / "my_contestants.py"


@pytest.fixture
def examples():
    return noisy(n=300, d=6)


@pytest.fixture
def load_text(tmp_path):
    """Return a function that loads a plugin with some text, from the file mine.py."""

    def load(text):
        (tmp_path / "mine.py").write_text(text)
        return load_plugin(tmp_path / "mine.py")

    return load


def test_the_documents_show_the_example_files():
    text = (DOCS / "own-algorithm.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    shown = [block.strip() for block in blocks if "def " in block]
    files = [path.read_text() for path in (RULE, RICHER_RULES, CONTESTANTS)]
    assert len(shown) == 5
    assert all(any(block in file for file in files) for block in shown)


def test_a_rule_in_a_file_runs_like_a_built_in_one(examples):
    X, y = examples
    [definition] = load_plugin(RULE)
    assert definition in definitions()
    timid = online_pass(make_algorithm("timid-arow", margin=1.0), X, y)
    arow = online_pass(make_algorithm("arow"), X, y)
    assert (timid.mistakes, timid.updates) == (arow.mistakes, arow.updates)
    np.testing.assert_array_equal(timid.weights, arow.weights)
    assert online_pass(make_algorithm("timid-arow", margin=0.0), X, y).updates < arow.updates


def test_loading_a_file_twice_changes_nothing():
    assert load_plugin(RULE) == load_plugin(str(RULE))


def test_a_loaded_algorithm_pickles_by_its_id():
    load_plugin(RULE)
    algorithm = make_algorithm("timid-arow")
    assert pickle.loads(pickle.dumps(algorithm)).definition is get_definition("timid-arow")


def run_one(algorithm, X, y):
    return online_pass(algorithm, X, y).mistakes


def test_algorithms_of_every_origin_run_in_other_processes(examples):
    load_plugin(RULE)
    algorithms = [
        make_algorithm("timid-arow"),
        make_algorithm("scw1"),
        wrap(SGDClassifier(random_state=0), id="arow"),
    ]
    here = [run_one(algorithm, *examples) for algorithm in algorithms]
    assert here[2] != run_one(make_algorithm("arow"), *examples)
    assert Parallel(2)(delayed(run_one)(algorithm, *examples) for algorithm in algorithms) == here


def test_a_rule_may_be_written_again_in_the_same_place(tmp_path):
    path = tmp_path / "draft.py"
    text = (
        "from olbench import second_order\n"
        "@second_order('draft')\n"
        "def f(m, v, mistake, t, p): return 0.0, 0.0, 0.0\n"
    )
    path.write_text(text + "1 / 0\n")
    with pytest.raises(UserError, match="ZeroDivisionError"):
        load_plugin(path)
    assert "draft" not in [definition.id for definition in definitions()]
    path.write_text(f"# better\n{text}")
    assert [definition.id for definition in load_plugin(path)] == ["draft"]


def test_reserved_names_and_rules_that_do_not_compile_are_refused(tmp_path):
    path = tmp_path / "reserved.py"
    path.write_text(
        "from olbench import Parameter, second_order\n"
        "@second_order('mine', parameters=(Parameter('a', 0.5, 'my a'),))\n"
        "def f(m, v, mistake, t, p): return 0.0, 0.0, 0.0\n"
    )
    with pytest.raises(UserError, match="mine: a parameter cannot be named a"):
        load_plugin(path)
    path = tmp_path / "pair.py"
    path.write_text(
        "from olbench import second_order\n"
        "@second_order('pair')\n"
        "def f(m, v, mistake, t, p): return 0.0, 0.0\n"
    )
    load_plugin(path)
    with pytest.raises(UserError, match=r"pair\.py:2: the rule of 'pair' returns 2 values; it must be "):
        online_pass(make_algorithm("pair"), np.eye(2), [1, -1])


def test_a_second_process_compiles_nothing():
    """Kernel and rule come from the cache on disk, for a user's own file too."""
    code = (
        "import json, sys, numpy as np, olbench\n"
        "from olbench.kernels import averaged, covariance, diagonal, dual, exact\n"
        "from olbench.kernels import first_order, product, root, rows\n"
        "olbench.load_plugin(sys.argv[1])\n"
        "X, y = np.eye(3), [1, -1, 1]\n"
        "hits = {}\n"
        "for id, options in [('timid-arow', {}), ('timid-arow', {'form': 'root'}),\n"
        "                    ('timid-arow', {'covariance': 'diag'}), ('scw1', {}), ('pa1', {}),\n"
        "                    ('scw2', {'kernel': 'rbf'}), ('averaged-pa', {}),\n"
        "                    ('sop', {'covariance': 'diag'})]:\n"
        "    algorithm = olbench.make_algorithm(id, **options)\n"
        "    olbench.online_pass(algorithm, X, y)\n"
        "    hits[id] = algorithm.definition.compiled_rule.cache_hits\n"
        "cw = olbench.make_algorithm('cw', covariance='diag', projection='exact')\n"
        "olbench.online_pass(cw, X, y)\n"
        "hits['exact'] = cw.definition.compiled_exact.cache_hits\n"
        "modules = (averaged, covariance, diagonal, dual, exact, first_order, product, root)\n"
        "kernels = (*(module.run for module in modules), rows.measure_norms)\n"
        "stats = {k.py_func.__module__: k.stats for k in kernels}\n"
        "found = {name: (len(s.cache_hits), len(s.cache_misses)) for name, s in stats.items()}\n"
        "print(json.dumps([hits, found]))\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, str(RULE)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ,
        )
    hits, kernels = json.loads(done.stdout)
    assert set(hits.values()) == {1}
    assert set(map(tuple, kernels.values())) == {(1, 0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1 +", "bad.py:1: the plugin failed: SyntaxError"),
        ("import nothing_like_this", "bad.py:1: the plugin failed: ModuleNotFoundError"),
        ("\n\n1 / 0", "bad.py:3: the plugin failed: ZeroDivisionError"),
        (
            "from olbench import first_order\n@first_order('arow')\ndef f(m, s, mistake, q, t, k, p): ...",
            "an algorithm named 'arow' already exists",
        ),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, message):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(message)):
        load_plugin(path)


MUTE = """class Mute(Exception):
    def __str__(self):
        raise RuntimeError
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{MUTE}raise Mute", "odd.py:4: the plugin failed: Mute: its message cannot be shown"),
        ("import sys\ndel sys.modules[__name__]\n1 / 0", "odd.py:3: the plugin failed: ZeroDivisionError"),
    ],
)
def test_a_file_that_fails_in_an_odd_way_is_named_with_its_line_too(tmp_path, text, message):
    path = tmp_path / "odd.py"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(message)):
        load_plugin(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"there is no plugin file .*nowhere\.py"):
        load_plugin(tmp_path / "nowhere.py")


def test_a_rule_that_gives_nonsense_is_a_breakdown_not_a_crash(tmp_path, examples):
    path = tmp_path / "nonsense.py"
    path.write_text(
        "from olbench import second_order\n"
        "@second_order('nonsense')\n"
        "def rule(m, v, mistake, t, p):\n"
        "    return 1.0, (m - m) / (v - v), 1.0\n"
    )
    load_plugin(path)
    result = online_pass(make_algorithm("nonsense"), *examples)
    assert result.breakdowns == result.n
    assert not result.weights.any()


def test_an_installed_package_offers_its_algorithms(tmp_path):
    """An entry point of the group olbench.algorithms is enough."""
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


@pytest.mark.parametrize("id", ["my-river-pa1", "my-sgd-logistic"])
def test_contestants_from_elsewhere_learn(id, examples):
    if id == "my-river-pa1":
        pytest.importorskip("river", reason="River is not installed")
    load_plugin(CONTESTANTS)
    result = online_pass(make_algorithm(id), *examples)
    assert result.updates == result.n == 300
    assert result.mistake_rate < 0.4


def test_rivers_pa_agrees_with_ours(examples):
    """Two implementations of PA-I make the same mistakes, but for the sign of zero on the first round."""
    pytest.importorskip("river", reason="River is not installed")
    load_plugin(CONTESTANTS)
    theirs = online_pass(make_algorithm("my-river-pa1", C=0.5), *examples)
    ours = online_pass(make_algorithm("pa1", C=0.5), *examples)
    assert abs(theirs.mistakes - ours.mistakes) <= 1
    np.testing.assert_allclose(theirs.weights, ours.weights, rtol=1e-9)


class Counter:
    """A learner without the keyword `classes`."""

    def __init__(self):
        self.seen = 0

    def predict(self, X):
        return np.ones(len(X))

    def partial_fit(self, X, y):
        self.seen += len(X)


def test_an_object_needs_no_classes_keyword(examples):
    result = online_pass(wrap(Counter()), *examples)
    assert result.mistakes == np.count_nonzero(examples[1] < 0)
    assert result.learner.model.seen == result.n


def test_the_first_prediction_of_rivers_learners_is_plus_one():
    river = pytest.importorskip("river.linear_model", reason="River is not installed")
    assert online_pass(wrap(river.LogisticRegression()), np.ones((1, 1)), [1]).mistakes == 0


def test_wrapping_starts_every_pass_anew(examples):
    wrapped = wrap(SGDClassifier(random_state=0), id="sgd")
    first, second = online_pass(wrapped, *examples), online_pass(wrapped, *examples)
    assert first.mistakes == second.mistakes
    assert wrapped.id == "sgd"


def test_wrapped_linear_models_show_their_weights(examples):
    model = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, fit_intercept=False)
    result = online_pass(wrap(model), *examples)
    np.testing.assert_allclose(
        result.weights, online_pass(make_algorithm("pa1"), *examples).weights, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
        ("import sys\nraise KeyboardInterrupt\n", "KeyboardInterrupt"),
    ],
)
def test_a_plugin_that_leaves_is_an_error_and_no_success(tmp_path, code, reason):
    """`olbench check` must not pass because a plugin ended it before anything was compared."""
    from olbench.algorithms.plugins import load_plugin

    plugin = tmp_path / "leaves.py"
    plugin.write_text(code)
    with pytest.raises(UserError, match=re.escape(f"{plugin}:2: the plugin failed: {reason}")):
        load_plugin(plugin)


MINE = """import math; seen = {{}}; from olbench import Parameter, second_order

@second_order("{id}", parameters=(Parameter("r", 1.0, "how much to regularise"{grid}),))
def mine({takes}):
    \"\"\"Learn.\"\"\"
    {body}

import numba
TABLE = (1.0, 2.0)
read = numba.njit(lambda p, i: p[i])
pair = numba.njit(lambda r: (r,))
"""
TAKES = "m, v, mistake, t, p"
FORM = r"\(m, v, mistake, t, p\) -> \(loss, alpha, c\)"


@pytest.mark.parametrize(
    ("takes", "body", "message"),
    [
        (
            TAKES,
            "return p[3], 0.1, 0.1",
            ":6: the rule of 'mine-.*' fails: IndexError: index 3 is out of bounds for axis 0 with size 1$",
        ),
        (TAKES, "return read(p, t), 0.1, 0.1", "mine.py:10: the rule .* fails: IndexError: index 1 is out"),
        (
            TAKES,
            "a, b = p; return 1.0, 0.1, b",
            ":6: the rule of 'mine-.*' fails: ValueError: not enough val",
        ),
        (TAKES, "p[0] = 5.0; return 1.0, 0.1, 0.1", ":6: the rule .* fails: ValueError: .* is read-only"),
        (
            TAKES,
            "a, b = pair(p[0]); return 1.0, a, b",
            ":6: the rule .* fails: ValueError: not enough values",
        ),
        (TAKES, "return TABLE[t], 0.1, 0.1", ":6: the rule of 'mine-.*' fails: IndexError: "),
        (
            TAKES,
            "return math.sqrt(-1.0 - abs(m)), 0.1, 0.1",
            ":6: the rule of 'mine-.*' fails in every round that was tried, whatever the margin: Value",
        ),
        (TAKES, "return 1.0, 0.5", f"returns 2 values; it must be {FORM}"),
        (TAKES, "return 1.0", f"returns one value, 1.0; it must be {FORM}"),
        (TAKES, "pass", f"returns nothing; it must be {FORM}"),
        (
            TAKES,
            "return los, 0.5, 0.5",
            r"mine.py:6: the rule of 'mine-.*' fails: NameError: name 'los' is not",
        ),
        (
            TAKES,
            "return math.sqroot(v), 0.5, 0.5",
            r"mine.py:6: the rule of .* fails: AttributeError: module",
        ),
        (TAKES, "return 'a', 0.5, 0.5", rf"returns \('a', 0.5, 0.5\); it must be {FORM}"),
        (TAKES, "seen[t] = m; return 1.0, 0.5, 0.5", r"mine.py:6: the rule of .* does not compile: Untyped"),
        (
            TAKES,
            "return 1.0, 0.1, float(str(abs(m)) + 'e0')",
            r"mine.py:6: the rule of .* does not compile: .* found for signature: float\(unicode_type\)$",
        ),
        (TAKES, "raise RuntimeError('no')", r"mine.py:6: the rule of 'mine-.*' fails: RuntimeError: no$"),
        (
            TAKES,
            "assert t < 2; return 1.0, 0.5, 0.5",
            "mine.py:6: the rule of 'mine-.*' fails: AssertionError",
        ),
        ("m, v, p", "return 1.0, 0.5, 0.5", rf"takes \(m, v, p\); it must be {FORM}"),
    ],
)
def test_a_rule_that_reads_or_returns_what_it_should_not_is_refused(load_text, request, takes, body, message):
    id = f"mine-{abs(hash(request.node.name))}"
    load_text(MINE.format(id=id, takes=takes, body=body, grid=""))
    with pytest.raises(UserError, match=message):
        online_pass(make_algorithm(id), *noisy(20, 3))


@pytest.mark.parametrize(
    "body",
    [
        "r, = p; return max(0.0, 1.0 - m), 0.1 / r, 0.1",
        "return (m < 0.0), 0.1 / (m - m), math.sqrt(m)",
        "return max(0.0, 1.0 - m), math.log(v) / p[-1], 0.1",
    ],
)
def test_a_rule_may_unpack_its_parameters_and_leave_a_number_undefined(load_text, request, body):
    id = f"mine-{abs(hash(request.node.name))}"
    load_text(MINE.format(id=id, takes=TAKES, body=body, grid=""))
    assert online_pass(make_algorithm(id), *noisy(20, 3)).n == 20


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("i = 0 if t < 200 else 1000; return max(0.0, 1.0 - m), 0.1 * p[i], 0.1", "IndexError: index is out"),
        ("assert t < 200; return max(0.0, 1.0 - m), 0.5, 0.5", "AssertionError"),
    ],
)
def test_what_the_trial_calls_do_not_reach_fails_during_the_pass(load_text, request, body, message):
    """Without bounds checks it would read stray memory, and exit 0 with a plausible rate."""
    id = f"mine-{abs(hash(request.node.name))}"
    load_text(MINE.format(id=id, takes=TAKES, body=body, grid=""))
    X, y = noisy(300, 3)
    assert online_pass(make_algorithm(id), X[:199], y[:199]).n == 199
    with pytest.raises(UserError, match=f"mine.py:3: the rule of '{id}' fails during a pass: {message}"):
        online_pass(make_algorithm(id), X, y)


def test_a_plugin_is_a_python_file(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("")
    with pytest.raises(UserError, match=r"mine.txt must be a Python file \(.py\)$"):
        load_plugin(file)


def test_a_rule_of_the_exact_step_is_checked_too(load_text):
    load_text(
        "from olbench import second_order\n"
        "def step(m, v, p):\n    return 1.0, 0.1, 0.1, 0.1, 0.1, p[7]\n"
        "@second_order('mine-exact', exact=step)\n"
        "def mine(m, v, mistake, t, p):\n    return 1.0, 0.1, 0.1\n"
    )
    with pytest.raises(
        UserError, match=r"mine.py:4: the rule of 'mine-exact' fails during a pass: IndexError"
    ):
        online_pass(make_algorithm("mine-exact", covariance="diag", projection="exact"), *noisy(20, 3))


def test_a_promise_to_be_passive_that_does_not_hold_is_refused(load_text):
    load_text(
        "from olbench import first_order\n\n\n"
        "@first_order('mine-passive', passive_above=lambda: 1.0)\n"
        "def mine(m, s, mistake, q, t, k, p):\n"
        "    return (1.0, 1.0, 0.1) if m < 6.0 else (0.0, 1.0, 0.0)\n"
    )
    with pytest.raises(
        UserError,
        match=r":4: the rule of 'mine-passive' is declared passive above a margin of 1, but at 5 it returns "
        r"\(1.0, 1.0, 0.1\); passive is \(0.0, 1.0, 0.0\)",
    ):
        online_pass(make_algorithm("mine-passive"), *noisy(20, 3))


def test_a_second_order_promise_to_be_passive_that_does_not_hold_is_refused(load_text):
    load_text(
        "from olbench import second_order\n\n\n"
        "@second_order('mine-idle', passive_above=lambda: 1.0)\n"
        "def mine(m, v, mistake, t, p):\n"
        "    return (1.0, 0.1, 1.0) if m < 6.0 else (0.0, 0.0, 0.0)\n"
    )
    with pytest.raises(UserError, match=r"at 5 it returns \(1.0, 0.1, 1.0\); passive is \(0.0, 0.0, 0.0\)"):
        online_pass(make_algorithm("mine-idle"), *noisy(20, 3))


def test_a_rule_may_return_whole_numbers_and_floats_in_different_branches(load_text):
    """All become doubles, whatever the types of the tuple."""
    load_text(
        "from olbench import second_order\n\n\n"
        "@second_order('mine-whole')\n"
        "def mine(m, v, mistake, t, p):\n"
        "    if mistake:\n"
        "        return 1, (1 - m) / (1 + v), 1\n"
        "    return 0, 0, 0\n"
    )
    X, y = noisy(200, 5)
    mine, sop = (online_pass(make_algorithm(id), X, y) for id in ("mine-whole", "sop"))
    assert mine.mistakes == sop.mistakes > 0
    np.testing.assert_array_equal(mine.weights, sop.weights)


ONE = """from olbench import Parameter, second_order, contestant
@second_order({id!r}, parameters={parameters})
def one(m, v, mistake, t, p): return 0.0, 0.0, 0.0
"""
TWO = "@contestant('mine-one')\ndef two(): return object()\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ONE.format(id="mine-one", parameters="()") + TWO,
            "mine.py:4: this file defines the algorithm 'mine-one' a second time; give it another id",
        ),
        (
            ONE.format(id="mine-one", parameters="(Parameter('r', 1.0, ''), Parameter('r', 2.0, ''))"),
            "mine.py:2: 'mine-one' has two parameters named 'r'; rename one of them",
        ),
        (ONE.format(id="", parameters="()"), "mine.py:2: an algorithm cannot be named ''; use a word"),
        (ONE.format(id=5, parameters="()"), "mine.py:2: an algorithm cannot be named 5; use a word without"),
        (ONE.format(id=["a"], parameters="()"), "mine.py:2: an algorithm cannot be named ['a']; use a word"),
        (ONE.format(id="a,b", parameters="()"), "mine.py:2: an algorithm cannot be named 'a,b'; use a word"),
        (ONE.format(id="a\n", parameters="()"), r"mine.py:2: an algorithm cannot be named 'a\n'; use a word"),
        (
            ONE.format(id="mine-one", parameters="(Parameter('', 1.0, ''),)"),
            "mine.py:2: a parameter cannot be named ''; use a word",
        ),
    ],
)
def test_names_that_are_double_or_no_words_are_refused(tmp_path, text, message):
    """The second of two rules with one id would win without a word."""
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(UserError, match=re.escape(message)):
        load_plugin(file)
    assert "mine-one" not in [definition.id for definition in definitions()]
    file.write_text(ONE.format(id="mine-one", parameters="()"))
    assert [definition.id for definition in load_plugin(file)] == ["mine-one"]
    _unload(get_definition("mine-one").module)


def test_a_notebook_may_define_a_rule_again():
    for loss in (0.0, 1.0):

        @second_order("mine-cell")
        def cell(m, v, mistake, t, p, loss=loss):
            return loss, 0.0, 0.0

    assert get_definition("mine-cell") is cell
    del REGISTRY["mine-cell"]


def test_a_grid_outside_the_bounds_of_its_parameter_is_refused(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        MINE.format(id="mine-grid", takes=TAKES, body="return 1.0, 0.5, 0.5", grid=", grid=(1.0, -2.0)")
    )
    with pytest.raises(
        UserError, match=r"mine-grid, its default or grid: r must lie in \(0, inf\), not -2.0"
    ):
        load_plugin(file)


def test_a_rule_of_the_wrong_form_is_refused_before_the_first_trial(tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.py").write_text(
        "from olbench import first_order\n\n\n@first_order('short', title='x', source='y')\n"
        "def short(m, s):\n    '''Take too little.'''\n    return 1.0, 1.0, 1.0\n"
    )
    words = ("run", "breast-cancer", "--algorithms", "short", "--plugin", "short.py", "--out", "out")
    code, _, err = here(*words)
    assert code == 2
    assert "short.py:4: the rule of 'short' takes (m, s); it must be (m, s, mistake, q, t, k, p) -> " in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out" / "trials.jsonl").exists()


def test_a_plugin_path_that_is_not_unicode_is_refused():
    from olbench.algorithms.plugins import load_plugin

    with pytest.raises(UserError, match="there is no plugin file"):
        load_plugin("no\ud800.py")


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
    with pytest.raises(UserError, match=r"mine\.py:4: scaled has a parameter named gamma, and so have kern"):
        make_algorithm("scaled", kernel="rbf")
    monkeypatch.chdir(tmp_path)
    _, out, _ = here("algorithms", "--plugin", "mine.py", "scaled")
    assert "parameter   gamma = 1" in out
    assert "kernel" not in out
    config = (
        "datasets: [breast-cancer]\nplugins: [mine.py]\npermutations: 2\nalgorithms: [{id: scaled, %s}]\n"
    )
    (tmp_path / "wrong.yaml").write_text(config % "gamma: 2")
    code, _, err = here("run", "wrong.yaml")
    assert code == 2
    assert "wrong.yaml:4: gamma is a parameter of scaled; write params: {gamma: ...}" in err
    (tmp_path / "right.yaml").write_text(config % "params: {gamma: 2}")
    code, out, err = here("run", "right.yaml")
    assert code == 0, err
    assert "gamma=2.0" in out


def test_a_learner_without_a_source_has_no_line_for_it(load_text, here, tmp_path):
    load_text(GAMMA.replace("scaled", "anonymous"))
    _, out, _ = here("algorithms", "anonymous")
    assert "source" not in out
    assert "source      scw2012" in here("algorithms", "scw1")[1]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "def f(m, v, mistake, p): return 0.0, 0.0, 0.0",
            "the rule of 'bad' takes (m, v, mistake, p); it must",
        ),
        (
            "def f(m, v, mistake, t, p): return 0.0, 0.0",
            "the rule of 'bad' returns 2 values; it must be (m, v,",
        ),
        (
            "def f(m, v, mistake, t, p): return p[0], 0.0, 0.0",
            "the rule of 'bad' fails: IndexError: index 0 is out of bounds",
        ),
    ],
)
def test_listing_a_plugin_refuses_a_rule_of_the_wrong_form(here, tmp_path, rule, message):
    path = tmp_path / "bad.py"
    path.write_text(f"from olbench import second_order\n@second_order('bad')\n{rule}\n")
    for words in ((), ("bad",)):
        code, out, err = here("algorithms", "--plugin", path, *words)
        assert (code, out) == (2, "")
        assert re.search(r"bad\.py:[23]: ", err)
        assert message in err
    REGISTRY.pop("bad")


TABLE_RULE = """
import numba, numpy as np
from olbench import second_order
TABLE = np.array([1.0, 0.5, 0.25])
{decorator}
def look_up(k):
    return TABLE[k]
@second_order("tabled")
def tabled(m, v, mistake, t, p):
    k = 0 if t == 100 else t // 50
    return max(0.0, 1.0 - m), {read} / (v + 1.0), 1.0
"""


@pytest.mark.parametrize(
    ("read", "decorator"),
    [("TABLE[k]", ""), ("look_up(k)", "@numba.njit(boundscheck=True)")],
    ids=["its own", "of a function"],
)
def test_a_rule_that_reads_beyond_an_array_of_its_own_fails(load_text, examples, read, decorator):
    X, y = examples
    [definition] = load_text(TABLE_RULE.format(read=read, decorator=decorator))
    try:
        algorithm = make_algorithm("tabled")
        assert online_pass(algorithm, X[:149], y[:149]).breakdowns == 0
        message = r"mine.py:8: the rule of 'tabled' fails during a pass: IndexError: index is out of bounds"
        with pytest.raises(UserError, match=message):
            online_pass(algorithm, X[:151], y[:151])
    finally:
        _unload(definition.module)


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


def test_an_edit_that_python_would_miss_is_loaded(tmp_path, monkeypatch):
    """Its bytecode is dated to the second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    rule = (
        "from olbench import second_order\n@second_order('edited', title='{}')\n"
        "def edited(m, v, mistake, t, p):\n    return 0.0, 0.0, 0.0\n"
    )
    titles = []
    for title in ("one", "two"):
        (tmp_path / "mine.py").write_text(rule.format(title))
        os.utime(tmp_path / "mine.py", (1e9, 1e9))
        [definition] = load_plugin(tmp_path / "mine.py")
        titles.append(definition.title)
        _unload(definition.module)
    assert titles == ["one", "two"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
