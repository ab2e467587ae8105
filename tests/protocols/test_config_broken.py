"""Whatever is wrong in a config is refused with its place: exit code 2, one sentence, nothing written."""

from pathlib import Path

import pytest

from tests.cases import for_each

pytestmark = pytest.mark.usefixtures("own_folder")

GOOD = "datasets: [breast-cancer]\nalgorithms: [arow]\n"
DATA, ALGORITHMS = "datasets: [breast-cancer]\n", "algorithms: [arow]\n"

BROKEN = {
    "": "bad.yaml:1: it is empty",
    "just words\n": "bad.yaml:1: a config must be a mapping with the keys datasets and algorithms",
    "datasets: [": "bad.yaml:1: not YAML (expected the node content, but found '<stream end>')",
    GOOD + "a: b: c\n": "bad.yaml:3: not YAML (mapping values are not allowed here)",
    GOOD + "seed: !!python/object:os.system x\n": "bad.yaml:3: not YAML (could not determine a constructor "
    "for the tag 'tag:yaml.org,2002:python/object:os.system')",
    GOOD + "paper: *nothing\n": "bad.yaml:3: not YAML (found undefined alias 'nothing')",
    GOOD + f"paper: *{'a' * 3000}\n": f"bad.yaml:3: not YAML (found undefined alias '{'a' * 1855}"
    "... (3,047 characters)",
    GOOD + 'paper: "\\U00110000"\n': "bad.yaml:3: not YAML (chr() arg not in range(0x110000))",
    "datasets: &a [*a]\n" + ALGORITHMS: "bad.yaml:1: an alias may not contain itself",
    GOOD + "[1, 2]: 3\n": "bad.yaml:3: a key must be a word",
    GOOD + "seed: 1\nseed: 2\n": "bad.yaml:4: the key 'seed' is listed twice",
    DATA: "bad.yaml:1: the config needs the key 'algorithms'",
    "permutation: 3\n" + GOOD: "bad.yaml:1: unknown key 'permutation' in the config "
    "(did you mean 'permutations'?)",
    GOOD + "protocol: onlin\n": "bad.yaml:3: protocol must be one of online, crossval, "
    "stream, advice, fresh, shards, not 'onlin' (did you mean 'online'?)",
    GOOD + "seed: -1\n": "bad.yaml:3: seed must be a whole number from 0, not -1",
    GOOD + "seed: 2012-13-45\n": "bad.yaml:3: cannot read the value 2012-13-45",
    GOOD + f"seed: {'1' * 400}\n": f"bad.yaml:3: seed must be below 2^63, and {'1' * 60}... "
    "(400 characters) is not",
    GOOD + f"seed: {'1' * 5000}\n": f"bad.yaml:3: cannot read the value {'1' * 60}... (5,000 characters)",
    DATA + f"algorithms: [{{id: arow, params: {{r: {'9' * 400}}}}}]\n": "bad.yaml:2: arow: r must lie in "
    f"(0, inf), not {'9' * 60}... (400 characters)",
    GOOD + "x: " + "[" * 1000 + "]" * 1000 + "\n": "bad.yaml:1: its brackets or lists are nested too deeply",
    "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9 if k else ['x'] * 9)}]\n" for k in range(12)):
    "bad.yaml:1: its aliases repeat more than 100,000 values",
    "datasets: [~nosuchuser/x]\n" + ALGORITHMS: "bad.yaml:1: ~nosuchuser/x: there is no home folder for "
    "'~nosuchuser'; write the path out",
    GOOD + "permutations: 2.5\n": "bad.yaml:3: permutations must be a whole number from 1, not 2.5",
    DATA + "algorithms: [{id: arow, params: {r: -1e5}}]\n": "bad.yaml:2: arow: r must lie in (0, inf), not "
    "-100000.0",
    DATA + 'algorithms: [{id: arow, params: {r: "1e5"}}]\n': "bad.yaml:2: arow: r must be a number in "
    "(0, inf), not '1e5'",
    GOOD + "permutations: true\n": "bad.yaml:3: permutations must be a whole number from 1, not True",
    GOOD + "curve:\n": "bad.yaml:3: curve must be a whole number from 1, not nothing",
    GOOD + "paper: scw\n": "bad.yaml:3: there are no numbers of a paper 'scw' (did you mean 'scw2012'?); "
    "there are adviceptron2010, cw2008, cw2012, libol2013, scw2012, and a path to a YAML file works as well",
    "datasets: []\n" + ALGORITHMS: "bad.yaml:1: datasets must not be empty",
    "datasets: breast-cancer\n" + ALGORITHMS: "bad.yaml:1: datasets must be a list, not 'breast-cancer'",
    "datasets: [5]\n" + ALGORITHMS: "bad.yaml:1: a data set must be text, not 5",
    "datasets:\n  - breast-cancer\n  - breast-cancer\n" + ALGORITHMS: "bad.yaml:3: the data set "
    "'breast-cancer' is listed twice",
    "datasets: [svmguide]\n" + ALGORITHMS: "bad.yaml:1: there is no data set 'svmguide' (did you mean "
    "'svmguide3'?); `olbench data list` shows all, and a path to a LIBSVM file or a table works as well",
    "datasets: [{positive: 1}]\n" + ALGORITHMS: "bad.yaml:1: a data set needs the key 'name' or 'path'",
    "datasets: [{path: none.libsvm}]\n" + ALGORITHMS: "bad.yaml:1: there is no file none.libsvm",
    "datasets: [{name: usps, positive: one}]\n" + ALGORITHMS: "bad.yaml:1: positive must be a label or a "
    "list of labels, not 'one'",
    DATA + "algorithms: [{id: arow, name: scw1}, scw1]": "bad.yaml:2: 'scw1' names two algorithms, "
    "or is the id of another; choose another name",
    DATA + "algorithms: [{id: arow, name: pa}, {id: pa, name: arow}]": "bad.yaml:2: 'arow' names two "
    "algorithms, or is the id of another; choose another name",
    DATA + "algorithms:\n  - arow\n  - arow\n": "bad.yaml:4: the algorithm 'arow' is listed twice with the "
    "same settings",
    DATA + "algorithms:\n  - perceptron\n  - arrow\n": "bad.yaml:4: unknown algorithm 'arrow' (did you mean "
    "'arow'?); `olbench algorithms` lists all of them, and a plugin adds your own",
    DATA + "algorithms: [{params: {r: 1}}]\n": "bad.yaml:2: an algorithm needs the key 'id'",
    DATA + f"algorithms: [{{id: {'[' * 400}{']' * 400}}}]\n": "bad.yaml:2: id must be text, not a list",
    DATA + "algorithms:\n  - id: arow\n    params:\n      R: 1\n": "bad.yaml:5: arow: unknown parameter 'R' "
    "(did you mean 'r'?); its parameters are r",
    DATA + "algorithms: [{id: arow, params: {r: big}}]\n": "bad.yaml:2: arow: r must be a number in "
    "(0, inf), not 'big'",
    DATA + "algorithms: [{id: perceptron, params: {C: 1}}]\n": "bad.yaml:2: perceptron: unknown parameter "
    "'C'; it has no parameters",
    DATA + "algorithms: [{id: arow, grid: {r: [1]}}]\n": "bad.yaml:2: a grid needs tuning; add for example "
    "tuning: {search: grid}",
    DATA + "tuning: {search: grid}\nalgorithms: [{id: arow, grid: {}}]\n": "bad.yaml:3: grid must be a "
    "mapping of parameters to lists, and not empty",
    DATA + "tuning: {search: grid}\nalgorithms: [{id: arow, grid: {r: 1}}]\n": "bad.yaml:3: the grid of r "
    "must be a list, not 1",
    DATA + "tuning: {search: grid}\nalgorithms: [{id: arow, grid: {r: [1, 1.0]}}]\n": "bad.yaml:3: the grid "
    "of r has a value twice",
    DATA + "tuning: {search: grid}\nalgorithms:\n - {id: arow, params: {r: 1},\n    grid: {r: [1, 2]}}\n":
    "bad.yaml:5: r is both fixed and searched in grid",
    DATA + "algorithms: [{id: pa, covariance: diag}]\n": "bad.yaml:2: pa has no covariance, so 'covariance' "
    "does not apply",
    DATA + "algorithms: [{id: arow, a: -1}]\n": "bad.yaml:2: arow: a must lie in (0, inf), not -1",
    f"datasets: [{{name: usps, positive: 1{'0' * 400}}}]\n" + ALGORITHMS: "bad.yaml:1: a whole number is too "
    "large for a label; write it in quotes",
    'datasets: ["no\\nset"]\n' + ALGORITHMS: "bad.yaml:1: there is no data set 'no\\nset'; `olbench data "
    "list` shows all, and a path to a LIBSVM file or a table works as well",
    GOOD + "permutations: 0\n": "bad.yaml:3: permutations must be a whole number from 1, not 0",
    GOOD + "tuning: {search: grid, permutations: 0}\n": "bad.yaml:3: permutations must be a whole number "
    "from 1, not 0",
    GOOD + "tuning: grid\n": "bad.yaml:3: tuning must be a mapping, not 'grid'",
    DATA + "tuning: {search: grid}\nalgorithms: [{id: arow, grid: {r: []}}]\n": "bad.yaml:3: the grid of r "
    "must not be empty",
    GOOD + "tuning: {ties: last}\n": "bad.yaml:3: tuning needs the key 'search': one of grid, coordinate, "
    "holdout, none",
    GOOD + "tuning: {search: gird}\n": "bad.yaml:3: search must be one of grid, coordinate, holdout, none, "
    "not 'gird' (did you mean 'grid'?)",
    GOOD + "tuning: {serach: grid}\n": "bad.yaml:3: unknown key 'serach' in tuning (did you mean 'search'?)",
    GOOD + "protocol: stream\npermutations: 5\n": "bad.yaml:4: permutations does not apply to "
    "protocol: stream",
    DATA + "algorithms: [{id: arow, r: 2}]\n": "bad.yaml:2: r is a parameter of arow; write params: {r: ...}",
    DATA + "algorithms: [{id: arow, label: mine}]\n": "bad.yaml:2: reports call an algorithm by its name; "
    "write name: ... instead of label",
    GOOD + "plugins: [none.py]\n": "bad.yaml:3: there is no plugin file none.py",
}  # fmt: skip


@for_each("text", BROKEN)
def test_a_broken_config_is_refused_with_its_place(text, here):
    Path("bad.yaml").write_text(text)
    code, out, err = here("run", "bad.yaml", "--out", "out")
    assert (code, out, err) == (2, "", f"olbench: {BROKEN[text]}\n")
    assert [path.name for path in Path().iterdir() if path.name != "cache"] == ["bad.yaml"]


@for_each(("override", "message"), [
        ("permutations", "--set permutations: write key=value, for example --set permutations=5"),
        ("permutatons=3", "--set permutatons=3: unknown key 'permutatons' in the config "
         "(did you mean 'permutations'?)"),
        (f"seed={'[' * 300}", f"--set seed={'[' * 195}... (305 characters): not YAML (expected the node "
         "content, but found '<stream end>')"),
        ("algorithms=[{id: arow, params: {r: [1]}}]", "--set algorithms=[{id: arow, params: {r: [1]}}]: "
         "arow: r must be one value, not a list"),
        ("seed.x=3", "--set seed.x=3: there is no key 'x' below a value that is not a mapping"),
    ])  # fmt: skip
def test_an_override_is_checked_like_the_file(override, message, here):
    Path("good.yaml").write_text(GOOD + "seed: 1\n")
    assert here("run", "good.yaml", "--out", "out", "--set", override) == (2, "", f"olbench: {message}\n")
    deep = here.err("run", "good.yaml", "--out", "out", "--set", f"{'.'.join('a' * 2000)}=1")
    assert (len(deep) < 200, deep.endswith("no key of a config is below 20 others\n")) == (True, True)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.yaml"], "there is no file none.yaml (did you mean 'good.yaml'?)"),
        (["splice"], "splice is not downloaded; run `olbench data fetch splice`, or "
         "go on without with --skip-missing"),
        (["none.txt"], "there is no file none.txt"),
        (["nothing", "--algorithms", "arow"], "there is no config, data set or file 'nothing'"),
        (["breast-cancer", "--algorithms", "arow,scw9"], "--algorithms: unknown algorithm 'scw9' "),
        (["good.yaml", "--algorithms", "arow"], "--stream, --algorithms, --covariance, --plugin and "
         "flags for files (--positive, --label and so on) go with a data set; in a config use its keys, "
         "such as plugins, or --set"),
    ],
)  # fmt: skip
def test_a_wrong_command_or_environment_is_refused(words, message, here, monkeypatch):
    Path("good.yaml").write_text(GOOD)
    code, out, err = here("run", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"olbench: {message}")
    assert not Path("results").exists()
    monkeypatch.setenv("OLBENCH_JOBS", "two")
    assert here.err("run", "good.yaml") == "olbench: OLBENCH_JOBS must be a whole number from 1, not 'two'\n"


def test_two_files_cannot_share_a_name(here):
    Path("m.libsvm").write_text("1 1:1\n2 1:2\n3 1:3\n" * 5)
    twice = "datasets:\n  - {path: m.libsvm, positive: 1}\n  - {path: m.libsvm, positive: 2}\n"
    Path("bad.yaml").write_text(twice + ALGORITHMS)
    message = "bad.yaml:3: two data sets would be called 'm.libsvm'; give one of them another name"
    assert here("run", "bad.yaml", "--out", "out") == (2, "", f"olbench: {message}\n")
    Path("good.yaml").write_text(twice.replace("positive: 2", "positive: 2, name: twos") + ALGORITHMS)
    assert here("run", "good.yaml", "--out", "out", "--set", "permutations=2", "--quiet")[0] == 0


@pytest.mark.parametrize("key", ["datasets", "plugins", "advice"])
def test_a_name_that_is_too_long_for_a_file_is_refused_with_its_line(key, here, config):
    parts = {"datasets": "[breast-cancer]", "algorithms": "[arow]", key: f"[{'x' * 300}]"}
    if key == "advice":
        parts = {**parts, "protocol": "advice", key: "x" * 300}
    text = "".join(f"{name}: {value}\n" for name, value in parts.items())
    err = here.err("run", config(text), "--dry-run")
    assert err.startswith("olbench: small.yaml:")
    assert err.count("\n") == 1
