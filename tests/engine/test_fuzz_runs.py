"""Configs, ledgers, results folders, baselines and command lines, made up or damaged.

Each is taken or refused in one sentence. `make fuzz` tries many more of them.
"""

import io
import json
import os
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from olbench.analysis.check import compare, read_baseline
from olbench.analysis.results import load_results
from olbench.cli import cli
from olbench.cli.output import render
from olbench.cli.report import render_brief
from olbench.data.source import find_sources
from olbench.engine.plan import refuse_too_many
from olbench.errors import UserError
from olbench.protocols import cells_of, get_protocol, read_experiment
from olbench.protocols.reading import read_config
from olbench.records import ledger, run_file
from olbench.records.record import RecordError, read_line
from olbench.records.trial import Trial
from olbench.report import checks
from olbench.report.document import report_document
from olbench.report.formats import OUTPUTS
from olbench.report.model import make_report
from olbench.structs import from_plain
from tests import ROOT
from tests.changes import ODD, changed_tree, damaged, examples, expect_sentence
from tests.report.editing import seal

pytestmark = pytest.mark.fuzz

SHIPPED = [path.read_bytes() for path in sorted((ROOT / "configs").glob("*.yaml"))]
#: Data sets that need neither a download nor seconds to load.
BUNDLED = ["breast-cancer", "digits-1-vs-7", "synthetic", "synthetic-noise", "advice-synthetic"]
ALGORITHMS = [
    "perceptron", "pa1", "romma", "sop", "arow", "scw1", "cw-var", {"id": "arow", "params": {"r": 1.0}},
    {"id": "arow", "covariance": "diag", "projection": "exact"},
    {"id": "arow", "kernel": "rbf", "gamma": 0.5}, {"id": "cw", "covariance": "diag", "a": 2.0},
    {"id": "scw1", "grid": {"C": [0.5, 1.0], "eta": [0.75, 0.9]}},
    {"id": "pa2", "name": "second", "params": {"C": 2}},
]  # fmt: skip
TUNINGS = [{"search": "grid"}, {"search": "coordinate", "permutations": 1, "ties": "first"}]
EXTRAS = {
    "seed": st.sampled_from([0, 3]), "permutations": st.sampled_from([1, 20]),
    "curve": st.sampled_from([1, 50]), "covariance": st.sampled_from(["full", "diag"]),
    "protocol": st.sampled_from(["online", "crossval", "stream"]), "paper": st.just("scw2012"),
    "tuning": st.sampled_from(TUNINGS), "folds": st.sampled_from([2, 5]), "plugins": ODD, "epochs": ODD,
    "positive": ODD, "jobs": ODD,
}  # fmt: skip
ODD_YAML = [
    "~nosuchuser/x", "!!timestamp 2020", "!!int x", "!!binary =", "!!set {a}", "2020-01-01", "1:2:3", "0o7",
    ".nan", "-.inf", "9" * 400, "[" * 60 + "]" * 60, "&a [*a]", "!!python/object:os.system x", "\t", "*a",
    "=", "<<: {seed: 1}", "? [a, b]\n: c", "'\\", '"\\x0', "%YAML 9.9", "---\n...\n---", "~", "../x.yaml",
]  # fmt: skip


class PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


@st.composite
def configs(draw):
    """Draw a config that ships or one from the grammar, with values, lines or bytes changed."""
    if draw(st.integers(0, 5)) == 0:
        return draw(damaged(draw(st.sampled_from(SHIPPED))))
    datasets = st.lists(st.sampled_from(BUNDLED), min_size=1, max_size=2, unique=True)
    algorithms = st.lists(st.sampled_from(ALGORITHMS), min_size=1, max_size=3, unique_by=str)
    made = st.fixed_dictionaries({"datasets": datasets, "algorithms": algorithms}, optional=EXTRAS)
    shipped = st.tuples(st.sampled_from(SHIPPED), datasets).map(
        lambda pair: {**yaml.safe_load(pair[0]), "datasets": pair[1]}
    )
    tree = draw(made | shipped)
    for _ in range(draw(st.integers(0, 2))):
        tree = draw(changed_tree(tree))
    try:
        text = yaml.dump(tree, Dumper=PlainDumper, allow_unicode=True).encode()
    except (UnicodeEncodeError, ValueError):  # half of a character, or thousands of digits
        text = repr(tree).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 7)) == 0:
        key = draw(st.sampled_from(["seed", "paper", "datasets", "algorithms", "curve", "tuning", "x"]))
        text += f"\n{key}: {draw(st.sampled_from(ODD_YAML))}\n".encode()
    return text


@examples(60)
@given(configs())
def test_a_config_is_planned_or_refused_with_its_place(content):
    path = Path("fuzzed.yaml")
    path.write_bytes(content)
    try:
        config = read_config(path)
    except UserError as error:
        expect_sentence(error, has=str(path))
        return
    plain = json.loads(json.dumps(config.plain()))
    assert json.loads(json.dumps(read_experiment(from_plain(plain, "config"), "config").plain())) == plain
    if all(spec.name in BUNDLED and spec.path is None and spec.positive is None for spec in config.datasets):
        try:
            sources, _ = find_sources(config.datasets, False)
            refuse_too_many(cells_of(config, sources))
        except UserError as error:
            expect_sentence(error)


FOLDERS = [ROOT / "tests" / "report" / name for name in ("small", "folds")]
LINES = [line for folder in FOLDERS for line in (folder / ledger.NAME).read_bytes().splitlines()]


@st.composite
def records(draw):
    """Draw a line of a ledger: damaged bytes, or changed fields under a checksum that fits."""
    line = draw(st.sampled_from(LINES))
    if draw(st.integers(0, 3)) == 0:
        return draw(damaged(line))
    record = json.loads(line)
    for _ in range(draw(st.integers(1, 2))):
        record = draw(changed_tree(record))
    return seal(record).rstrip() if draw(st.integers(0, 5)) else json.dumps(record).encode()


@examples(200)
@given(records() | st.sampled_from(LINES).map(lambda line: line[:-1] + b',"x":' + b"[" * 100_000))
def test_a_record_holds_counts_that_a_trial_can_have_or_is_refused(content):
    try:
        record = read_line(content)
    except RecordError as error:
        expect_sentence(error)
        return
    assert seal(record).rstrip() == content.rstrip(b"\n")
    assert Trial.of(record).key
    if record["status"] == "ok":
        counts = [record.get(name, 0) for name in ("mistakes", "updates", "errors")]
        assert all(0 <= each <= record.get("n", 1e99) for each in counts)
        assert record.get("seconds", 0) >= 0
        if isinstance(record.get("curve"), dict):
            assert len(set(map(len, record["curve"].values()))) <= 1


def small_part(folder):
    """Return the run file and the ledger of one data set of a folder, without a paper."""
    run = json.loads((folder / run_file.NAME).read_bytes())
    dataset = run["config"]["datasets"][-1]["name"]
    run["config"].pop("paper", None)
    entries = len(run["config"]["algorithms"])
    cells = [{"entry": k % entries, **cell} for k, cell in enumerate(run["cells"])]
    run["cells"] = [cell for cell in cells if cell["dataset"] == dataset]
    lines = [json.loads(line) for line in (folder / ledger.NAME).read_bytes().splitlines()]
    return run, [record for record in lines if record["dataset"] == dataset]


@st.composite
def results(draw):
    """Draw run.json and trials.jsonl, one of them changed; some changed trials have a key that fits."""
    run, trials = draw(st.sampled_from([small_part(folder) for folder in FOLDERS]))
    lines, what = [seal(record).rstrip() for record in trials], draw(st.integers(0, 5))
    run_text = json.dumps(draw(changed_tree(run)) if what < 2 else run).encode()
    if what == 2:
        return draw(damaged(run_text)), b"\n".join(lines) + b"\n"
    if what == 3:
        return run_text, draw(damaged(b"\n".join(lines) + b"\n"))
    at = draw(st.integers(0, len(lines) - 1))
    record = draw(changed_tree(trials[at]))
    if what == 4:
        try:
            key = Trial.of(record).key
            run_text = run_text.replace(trials[at]["key"].encode(), key.encode())
            record = {**record, "key": key}
        except (KeyError, TypeError, AttributeError):
            pass
    lines[at] = seal(record).rstrip()
    return run_text, b"\n".join(lines) + b"\n"


@examples(15)
@given(results(), st.sampled_from([None, None, None, "brief", *OUTPUTS]))
def test_a_results_folder_is_reported_or_refused(content, form):
    folder = Path("results")
    folder.mkdir(exist_ok=True)
    for name, part in zip((run_file.NAME, ledger.NAME), content, strict=True):
        (folder / name).write_bytes(part)
    try:
        load_results(folder).to_frame()
        if form == "brief":
            render_brief(make_report(folder), "olbench report results").encode()
        elif form:  # the statistics take most of the time
            render(report_document(make_report(folder)), form, folder / f"report.{form}").encode()
    except UserError as error:
        expect_sentence(error)


ROWS = [
    {"dataset": dataset, "algorithm": algorithm, "params": {"r": 1.0}, "grid": {"r": [0.5, 1.0]},
     "options": {"covariance": "full"}, "fingerprint": "09b79ee7" * 2, "n": 100,
     "mistakes": [10, 12, 11], "updates": [20, 22, 25], "seconds": [0.01, 0.012, 0.011]}
    for dataset in ("breast-cancer", "synthetic") for algorithm in ("arow", "scw1")
]  # fmt: skip
BASELINE = {"format": 2, "protocol": "online", "seed": 3, "versions": {"numpy": "2.0"}, "rows": ROWS}
TEXT = json.dumps(BASELINE, indent=1).encode()
CHANGED = changed_tree(BASELINE) | changed_tree(BASELINE).flatmap(changed_tree)
DEEP = st.just(b'{"rows": ' + b"[" * 100_000)


@examples(150)
@given(damaged(TEXT) | CHANGED.map(lambda tree: json.dumps(tree).encode()) | DEEP)
def test_a_count_that_differs_from_a_baseline_is_found_or_the_baseline_is_refused(content):
    Path("baseline.json").write_bytes(content)
    Path("now.json").write_bytes(TEXT)
    now = read_baseline(Path("now.json"))
    try:
        before = read_baseline(Path("baseline.json"))
    except UserError as error:
        expect_sentence(error)
        return
    comparison = compare(before, now, get_protocol("online"))
    checks.render_text(comparison).encode()
    json.loads(checks.render_json(comparison))
    ElementTree.fromstring(checks.render_junit(comparison, []))
    checks.render_github(comparison, lambda finding: ("ci.yaml", 1)).encode()
    rows = {(row["dataset"], row["algorithm"]): row for row in ROWS}
    for old in before.rows:
        new = rows.get(old.place, {})
        names = [
            name for name in ("mistakes", "updates") if old.counts.get(name, new.get(name)) != new.get(name)
        ]
        assert comparison.changes or (new and not names)


#: Verbs that take neither a network nor long.
VERBS = [
    "run", "report", "summary", "check", "init", "algorithms", "conform", "verify", "trace", "data list",
    "data info", "data verify",
]  # fmt: skip
#: Options that go on until they are stopped, or start processes.
LEFT_OUT = ("cluster", "help", "timed", "memory", "program")
FILES = {
    "small.libsvm": "".join(f"{1 if k % 3 else -1} 1:{k % 7} 2:{k * k % 5}\n" for k in range(30)),
    "table.csv": "size,colour,sold\n1,red,yes\n2,blue,no\n,red,yes\n4,blue,no\n",
    "tiny.yaml": "permutations: 2\ndatasets: [{path: small.libsvm}]\nalgorithms: [perceptron]\n",
    "broken.yaml": "datasets: [\n",
    "rules.yaml": "rules:\n  - x1 >= 1 => 1\n",
    "plugin.py": "raise ValueError('no')\n",
    "learner.py": "def step(state, x, y):\n    return 0.0 * x if state is None else state\n",
}
WORDS = st.sampled_from([
    *FILES, "results/run", "results", "base.json", "nowhere/x", "", " ", ".", "x", "tiny", "é", "a\nb",
    "\udcff", "x" * 300, "9" * 400, "-1", "0", "1", "2", "3.5", "nan", "1e999", "~nosuchuser/x", "arow",
    "arow,,", "arow,perceptron", "synthetic", "breast-cancer", "scw2012", "html", "json", "a=b",
    "permutations=1", "seed=x", "tuning.search=grid", "a.b.c=[", "=", "=[1", "sold", "red", ";", "tab", "1G",
])  # fmt: skip
#: What arguments are, by their names in the code.
LIKELY = {
    "folders": "results/run", "folder": "results/run", "run": "results/run", "config": "tiny.yaml",
    "what": "tiny.yaml", "rules": "rules.yaml", "file": "table.csv", "id": "arow", "spec": "learner.py:step",
}  # fmt: skip


@st.composite
def command_lines(draw):
    words, command = draw(st.sampled_from(VERBS)).split(), cli
    for word in words:
        command = command.get_command(click.Context(command), word)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            likely = LIKELY.get(parameter.name, "small.libsvm")
            words += [draw(st.just(likely) | WORDS) for _ in range(draw(st.sampled_from([1, 1, 1, 1, 0, 2])))]
        elif parameter.name not in LEFT_OUT and draw(st.integers(0, 6)) == 0:
            words.append(draw(st.sampled_from(parameter.opts)))
            if not parameter.is_flag:
                choices = getattr(parameter.type, "choices", ["1", "2"])
                words.append(draw(st.sampled_from([str(choice) for choice in choices]) | WORDS))
    return words


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a folder with files of every kind, among them a run and a baseline."""
    folder = tmp_path_factory.mktemp("prepared")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in ("run tiny.yaml -q --out results/run", "check tiny.yaml -q --update --against base.json"):
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), pytest.raises(SystemExit):
                cli.main(line.split(), prog_name="olbench")
    return folder


@examples(15)
@given(words=command_lines())
def test_a_command_line_does_its_work_or_is_refused(prepared, words):
    os.chdir(prepared)
    shutil.rmtree("../command", ignore_errors=True)
    shutil.copytree(prepared, "../command")
    os.chdir("../command")
    code, err = 0, io.StringIO()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(err):
            code = cli.main(words, prog_name="olbench", standalone_mode=False) or 0
    except SystemExit as end:
        code = end.code or 0
    except UserError as error:
        expect_sentence(error)
    except (click.ClickException, OSError):
        return
    assert "Traceback" not in err.getvalue()
    assert "Warning:" not in err.getvalue()
    assert code in (0, 1, 2, 3, 4)
