"""check, init and the dry run say what they should, with the agreed exit codes."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from olbench import api, contestant
from olbench.cli import plan
from olbench.engine import local
from olbench.engine.local import attempt
from olbench.engine.probing import RECORD_SECONDS, probe_seconds
from olbench.engine.stopping import StopFlag
from olbench.protocols.reading import read_config
from olbench.protocols.schema import make_schema
from tests.cases import for_each
from tests.conftest import SMALL

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def baseline(here, config):
    assert here("check", config(), "--against", "base.json", "--update", "--quiet")[0] == 0
    return Path("base.json")


def test_check_says_what_changed_and_by_how_much(here, baseline):
    code, out, _ = here("check", "small.yaml", "--against", baseline, "--quiet")
    assert (code, out) == (0, "36 counts compared, 0 changed\n")
    content = json.loads(baseline.read_text())
    content["rows"][0]["mistakes"][1] += 3
    baseline.write_text(json.dumps(content))
    code, out, _ = here("check", "small.yaml", "--against", baseline, "--quiet")
    others = sum(content["rows"][0]["mistakes"])
    rates = f"{100 * others / 569 / 3:.1f} % -> {100 * (others - 3) / 569 / 3:.1f} %"
    line = f"perceptron on breast-cancer: mistake rate {rates}, better (1 of 3 permutations changed)\n"
    assert (code, out) == (1, line + "36 counts compared, 1 changed; of the results, 1 better\n")


HEAD, SEED = '{"format": 2, "protocol": "online", "versions": {}, ', '"seed": 3, '
EMPTY = f'{HEAD}{SEED}"rows": []}}'


def test_check_of_cells_that_the_baseline_does_not_have_exits_4(here, config, baseline):
    baseline.write_text(EMPTY)
    out = here.out("check", "small.yaml", "--against", baseline, "--quiet", code=4)
    assert "0 counts compared, 0 changed" in out
    assert "arow on breast-cancer: not in the baseline, so not compared; add it with --update" in out


def test_check_against_a_run_compares_the_data_sets_that_it_has_in_common(here, config):
    assert here("run", config(), "--out", "out", "--quiet")[0] == 0
    assert here.out("check", "small.yaml", "--against", "out", "--quiet") == "36 counts compared, 0 changed\n"
    words = ("check", "small.yaml", "--against", "out", "--quiet", "--set")
    assert here.out(*words, "datasets=[digits-1-vs-7]") == "18 counts compared, 0 changed\n"
    here.out(*words, "seed=4", code=4)
    here.out(*words, "datasets=[synthetic]", code=4)


FAILING = """
from olbench import contestant

@contestant("broken")
def broken():
    '''Fail.'''
    raise RuntimeError("no")
"""


def test_check_of_failing_trials_exits_3(here, config):
    Path("bad.py").write_text(FAILING)
    config(SMALL.replace("perceptron,", "broken,") + "plugins: [bad.py]\n")
    Path("base.json").write_text(EMPTY)
    words = ("check", "small.yaml", "--against", "base.json", "--quiet", "--jobs", 1)
    names = ("breast-cancer", "digits-1-vs-7")
    lines = "".join(f"broken on {name} failed: bad.py:7: RuntimeError: no\n" for name in names)
    assert here(*words)[0::2] == (3, lines)
    error = here.err(*words, "--update", code=3)
    assert error.endswith("olbench: base.json was not written, because trials failed\n")
    assert Path("base.json").read_text() == EMPTY
    Path("base.json").unlink()
    config(SMALL)
    assert here(*words, "--update")[0] == 0
    config(SMALL.replace("perceptron,", "{id: broken, name: perceptron},") + "plugins: [bad.py]\n")
    out = here.out(*words, code=3)
    assert out == "24 counts compared, 0 changed; of the results, 2 failed\n"


NO_BASELINE, RENEW = "base.json is not a baseline", "--update writes one to a new file"
ROW = '{"dataset": "a", "algorithm": "b", "fingerprint": "f", "mistakes": [1'


@for_each(("content", "message"), [
        (None, "cannot read the baseline base.json: No such file or directory; write one with --update"),
        ("[]", f"{NO_BASELINE}: baseline: the file must be a mapping, not a list; {RENEW}"),
        ("{", f"{NO_BASELINE}; {RENEW}"),
        (HEAD + '"seed": "x", "rows": []}',
         f"{NO_BASELINE}: baseline.seed: seed must be a whole number from 0, not 'x'; {RENEW}"),
        *(
            (f'{HEAD}{SEED}"rows": [{row}]}}', f"{NO_BASELINE}: baseline.rows{fault}; {RENEW}")
            for row, fault in (
                ("7", ".0: a row must be a mapping, not 7"),
                (f"{ROW}, NaN]}}", ".0.mistakes: 'mistakes' is not a list of numbers"),
                (f'{ROW}], "updates": []}}', ".0: the counts are missing, or there are not as many of each"),
                (f"{ROW}]}}, {ROW}]}}", ": b on a comes a second time"),
            )
        ),
    ])  # fmt: skip
def test_check_refuses_a_file_that_is_not_a_baseline(content, message, here, config):
    if content is not None:
        Path("base.json").write_text(content)
    words = ("check", config(), "--against", "base.json")
    assert here(*words) == (2, "", f"olbench: {message}\n")
    if content is not None:  # it may be the user's config
        assert here(*words, "--update") == (2, "", f"olbench: {message}\n")


def test_the_dry_run_says_what_is_reused_and_why_not_the_rest(here, config):
    out = here.out("run", config(), "--dry-run")
    assert "2 data sets x 3 algorithms x 3 permutations = 18 trials, and 8 tuning passes (grid)" in out
    assert "of memory" in out
    assert not Path("results").exists()
    here("run", config(), "--out", "out", "--quiet")

    def plan(*words):
        return here.out("run", "small.yaml", "--out", "out", "--dry-run", *words)

    before = Path("out/trials.jsonl").read_bytes()
    assert plan().endswith("26 trials reused, 0 would run\n")
    out = plan("--set", "seed=4")
    assert "seed is 4, not 3 (" in out
    assert "the tuning comes first (3 trials)" in out
    assert out.endswith("0 trials reused, 26 would run\n")
    assert plan("--set", "permutations=4").endswith("26 trials reused, 6 would run\n")
    assert "options is covariance=diag, projection=kl, a=1.0, not covariance=full" in plan(
        "--set", "covariance=diag"
    )
    assert "points is 7, not " in plan("--set", "curve=7")
    assert Path("out/trials.jsonl").read_bytes() == before


def test_the_dry_run_names_a_measure_that_records_do_not_have(here, config):
    text = "protocol: stream\ndatasets: [breast-cancer]\nalgorithms: [arow]\nmeasures: [accuracy]\n"
    assert here("run", config(text), "--out", "out", "--quiet")[0] == 0
    out = here.out("run", "small.yaml", "--out", "out", "--dry-run", "--set", "measures=[log_loss]")
    assert "its record has no log_loss" in out


def test_a_new_version_of_the_learners(here, config, monkeypatch):
    here("run", config(), "--out", "out", "--quiet")
    monkeypatch.setattr("olbench.protocols.definition.code_of", lambda definition, version: "2")
    _, out, _ = here("run", "small.yaml", "--out", "out", "--dry-run")
    assert "its algorithm has version 2 now, not 1 (" in out
    assert "26 trials run, 0 reused" in here.out("run", "small.yaml", "--out", "out")


def test_init_writes_a_config_that_runs_and_replaces_nothing(here):
    out = here.out("init", "my.yaml")
    assert out == "my.yaml written, and olbench.schema.json for editors; now `olbench run my.yaml`\n"
    assert Path("my.yaml").read_text().startswith("# yaml-language-server: $schema=olbench.schema.json\n")
    assert json.loads(Path("olbench.schema.json").read_text()) == make_schema()
    assert here("run", "my.yaml", "--set", "permutations=1", "--quiet") == (0, "", "")
    err = here.err("init", "my.yaml")
    assert err == "olbench: my.yaml already exists; choose another name, or overwrite it with --force\n"
    assert here("init", "my.yaml", "--force")[0] == 0
    assert here("init", "my.txt")[0] == 2


def test_verify_of_a_trial_that_fails_says_why(here, config, records):
    Path("bad.py").write_text(FAILING.replace("broken", "hopeless"))
    text = "datasets: [digits-1-vs-7]\nalgorithms: [hopeless]\nplugins: [bad.py]\npermutations: 1\n"
    assert here("run", config(text), "--out", "out", "--quiet", "--jobs", 1)[0] == 3
    out = here.out("verify", "out", "--trial", records("out")[0]["key"], code=3)
    assert out.splitlines()[-1] == "It fails here: bad.py:7: RuntimeError: no"
    out = here.out("run", "small.yaml", "--out", "out", "--dry-run")
    assert "it failed before (bad.py:7: RuntimeError: no) (1 trial)" in out


@for_each(
    "keys", ["permutations: 2", "protocol: stream", "protocol: crossval\nrepeats: 1\nfolds: 2\nepochs: 1"]
)
def test_the_estimated_time_counts_python_objects(here, config, keys):
    Path("slow.py").write_text(
        "import time\nfrom olbench import contestant\n\n\n@contestant('slow')\nclass Slow:\n"
        "    predict_one = lambda self, x: True\n    learn_one = lambda self, x, y: time.sleep(0.001)\n"
    )
    text = f"{keys}\ndatasets: [breast-cancer]\nalgorithms: [slow]\nplugins: [slow.py]\n"
    out = here.out("run", config(text), "--dry-run", "-j", "1")
    assert "of it to compile or load the kernels and to start processes)" in out
    rounds = 569 * (1 if "stream" in keys else 2)
    assert 0.001 * rounds - 0.1 <= float(re.search(r"about ([0-9.]+) s", out)[1]) <= 0.01 * rounds


def test_a_second_look_reports_the_algorithms_that_it_names_and_keeps_all_trials(here, records):
    Path("my.libsvm").write_text("+1 1:0.5 2:1\n-1 1:-0.5 2:3\n+1 1:1 2:0.1\n-1 2:4\n" * 3)
    words = ("run", "my.libsvm", "--set", "permutations=2", "--algorithms")
    here.out(*words, "perceptron")
    here.out(*words, "pa1")
    assert len(records("results/my.libsvm")) == 4
    info = json.loads(Path("results/my.libsvm/run.json").read_text())
    assert [cell["label"] for cell in info["cells"]] == ["pa1"]
    assert info["data"]["my.libsvm"]["majority"] == 6
    assert "0 trials run, 4 reused" in here.out(*words, "perceptron,pa1")


def test_the_dry_run_probes_each_kind_once_and_gives_a_bound_where_one_fails(here, config, monkeypatch):
    probed = []
    answers = {"perceptron": 2.0, "arow": None}
    monkeypatch.setattr(
        plan, "probe_seconds", lambda cell, jobs: probed.append(cell) or answers[cell.spec.id]
    )
    entries = "perceptron, arow, {id: arow, params: {r: 2}}, {id: arow, params: {r: 3}}"
    text = f"datasets: [breast-cancer]\npermutations: 3\ntuning: {{search: none}}\nalgorithms: [{entries}]\n"
    out = here.out("run", config(text), "--dry-run", "--jobs", 1)
    assert [cell.spec.id for cell in probed] == ["perceptron", "arow"]
    assert "at least 6." in out
    answers["arow"] = 1.0
    assert "about 15 s" in here.out("run", "small.yaml", "--dry-run", "--jobs", 1)


def test_a_probe_of_short_trials_counts_what_is_not_their_pass(config):
    text = "datasets: [breast-cancer]\npermutations: 3\ntuning: {search: none}\nalgorithms: [perceptron]\n"
    [cell] = api.plan(read_config(Path(config(text)))).cells
    record = attempt(cell.trial(cell.start, "report", 0), StopFlag())
    assert probe_seconds(cell, 1) > RECORD_SECONDS + record["seconds"] / 2
    assert probe_seconds(replace(cell, is_view=True), 1) == 0.0


def test_a_probe_of_a_learner_that_gets_slower_as_it_grows_is_long_enough(here, config, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    class Growing:
        rounds = 0

        def predict_one(self, x):
            return True

        def learn_one(self, x, y):
            self.rounds += 1
            now[0] += 0.0002 if self.rounds < 1024 else 0.001

    contestant("growing")(Growing)
    Path("rows.libsvm").write_text("".join(f"{k % 2} 1:{k}\n" for k in range(5000)))
    text = "datasets: [rows.libsvm]\npermutations: 3\ntuning: {search: none}\nalgorithms: [growing]\n"
    [cell] = api.plan(read_config(Path(config(text)))).cells
    taken = attempt(cell.trial(cell.start, "report", 0), StopFlag())["seconds"]
    assert probe_seconds(cell, 1) == pytest.approx(taken, rel=0.1)


def test_a_dry_run_counts_only_on_processes_that_run_at_full_speed(here, config, monkeypatch):
    contestant("object")(lambda: None)
    text = "datasets: [breast-cancer]\ntuning: {search: none}\nalgorithms: [perceptron, object]\n"
    given = {}
    monkeypatch.setattr(plan, "probe_seconds", lambda cell, jobs: given.setdefault(cell.spec.id, jobs))
    for alone, together, speed in ((1.0, 0.5, 0.5), (0.5, 1.0, 1.0)):
        shares = iter((alone, together))
        monkeypatch.setattr(local, "_measure_share", lambda: next(shares))  # noqa: B023
        monkeypatch.setattr(local, "start", lambda *_: None)
        given.clear()
        here.out("run", config(text), "--dry-run", "--jobs", 1)
        assert given == {"perceptron": 1, "object": speed}
