"""A run on a cluster is a run: same counts, nothing lost, nothing doubled. All on real processes."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import scipy.sparse as sp

import olbench
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.dataset import Dataset, fingerprint
from olbench.data.source import Source
from olbench.data.spec import DatasetSpec
from olbench.engine.cluster import ClusterExecutor
from olbench.engine.runner import open_run
from olbench.engine.worker import identify
from olbench.errors import UserError
from olbench.protocols.online import Online, OnlineExperiment
from tests import ROOT

distributed = pytest.importorskip("distributed", reason="the tests of clusters need dask.distributed")

WAIT = 300
MANY = """\
seed: 5
permutations: 50
curve: 20
datasets: [synthetic]
algorithms: [perceptron, arow, cw]
"""
SHARDS = """\
protocol: shards
seed: 3
datasets: [synthetic]
splits: 3
test: 2000
shards: [3, 8]
every: 2000
covariance: diag
algorithms: [{id: cw-var, projection: kl}, pa1]
tuning: {search: none, rows: 20, folds: 2}
"""
STREAM = """\
protocol: stream
seed: 3
delay: 5
measures: [auc]
datasets: [breast-cancer]
algorithms: [perceptron, arow]
tuning: {search: grid, prefix: 0.2}
"""
KILLER = """\
import os, signal
from olbench import contestant

@contestant("killer", title="kills its process")
def killer():
    return Killer()

class Killer:
    def predict_one(self, x):
        with open(os.environ["KILLS"], "a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)

    def learn_one(self, x, y):
        pass
"""


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited for {what} in vain"
        time.sleep(0.01)
    return value


class Nursery:
    """A scheduler and workers that are replaced when they die."""

    def __init__(self, folder, workers=2, algorithms="", join="", python_path=ROOT):
        self.file = Path(join or folder / f"scheduler-{random.getrandbits(32):x}.json")
        self.alive, self.scheduler, self.born = [], 0, 0
        words = [Path(__file__).with_name("nursery.py"), str(workers), self.file, algorithms]
        with open(folder / "nursery.log", "a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(python_path)},
            )  # fmt: skip
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        wait_for(lambda: self.born >= workers or self.process.poll() is not None, "the first workers")

    def _read(self):
        for line in self.process.stdout:
            role, pid = line.split()
            if role == "scheduler":
                self.scheduler = int(pid)
            else:
                self.alive.append(int(pid))
                self.born += 1

    def kill_worker(self):
        """Kill the oldest worker, as a new one may have no trial to lose; wait until another is born."""
        born, killed = self.born, False
        while not killed:
            wait_for(lambda: self.alive, "a worker")
            with suppress(ProcessLookupError):  # it has gone by itself, and another has come
                os.kill(self.alive.pop(0), signal.SIGKILL)
                killed = True
        wait_for(lambda: self.born > born, "another worker")

    def close(self):
        self.process.stdin.close()
        self.process.wait(WAIT)
        self.reader.join(WAIT)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A cache that clients and workers share; KILLS is where a killer leaves its marks."""
    folder = tmp_path_factory.mktemp("cluster")
    before = dict(os.environ)
    os.environ.update({"OLBENCH_CACHE": str(folder / "cache"), "KILLS": str(folder / "kills")})
    os.environ.pop("OLBENCH_MIRROR", None)
    yield folder
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def nursery(shared):
    with closing(Nursery(shared, 2, "perceptron,arow,cw")) as nursery:
        yield nursery


@pytest.fixture(autouse=True)
def shared_cache(shared, own_folder, monkeypatch):
    monkeypatch.setenv("OLBENCH_CACHE", str(shared / "cache"))


@pytest.fixture
def start():
    started = []

    def run(*words):
        command = [sys.executable, "-W", "error", "-m", "olbench", *map(str, words)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def client_of(nursery):
    return distributed.Client(scheduler_file=str(nursery.file), set_as_default=False)


def lines_of(folder):
    ledger = Path(folder) / "trials.jsonl"
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def test_two_processes_count_what_threads_count(olbench, here, counts, records):
    few = ("--set", "permutations=1", "--set", "tuning.search=none", "--quiet")
    config = ROOT / "configs/quick.yaml"
    done = olbench("run", config, "--cluster", "local:2", "--out", "cluster", *few)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert here("run", config, "--jobs", "2", "--out", "here", *few)[0] == 0
    assert counts("cluster") == counts("here")
    assert len(counts("here")) == 4 * 14
    found = records("cluster")
    assert {record["timing"] for record in found} == {"shared"}
    assert len({record["worker"] for record in found}) == 2
    assert all(record["worker"].startswith("tcp://127.0.0.1:") for record in found)


def without_times(records):
    """Return records by key, without what differs from run to run, such as where their arrays are."""
    volatile = ("seconds", "cpu_seconds", "combine_seconds", "worker", "timing", "checksum", "arrays")
    for record in records:
        record["curve"].pop("seconds", None)
    found = {r["key"]: {name: r[name] for name in r if name not in volatile} for r in records}
    assert len(found) == len(records)
    assert {record["status"] for record in found.values()} == {"ok"}
    return found


@pytest.mark.parametrize(("text", "kills", "step"), [(MANY, 10, 12), (SHARDS, 3, 8)], ids=["whole", "parts"])
def test_after_kills_of_workers_nothing_is_lost_or_doubled(
    text, kills, step, nursery, start, here, config, records
):
    words = ("--set", "splits=6", "--quiet") if text == SHARDS else ("--quiet",)
    run = start("run", config(text), "--cluster", nursery.file, "--out", "cluster", *words)
    moments = random.Random(1)
    for number in range(kills):
        least = step * number + moments.randrange(step)
        wait_for(lambda least=least: lines_of("cluster") >= least or run.poll() is not None, "trials")
        time.sleep(moments.uniform(0, 0.05))
        assert run.poll() is None, "all kills hit a run that is going on"
        nursery.kill_worker()
    out, err = run.communicate(timeout=WAIT)
    assert (run.returncode, out) == (0, "")
    deaths = json.loads(Path("cluster/run.json").read_text())["deaths"]
    assert err.splitlines() == [f"olbench: {death}" for death in deaths]
    assert len(deaths) >= 0.7 * kills or text == SHARDS
    assert all(death.startswith("a worker of the cluster died") for death in deaths)
    assert here("run", "small.yaml", "--jobs", "2", "--out", "here", *words)[0] == 0
    assert without_times(records("cluster")) == without_times(records("here"))
    assert len(records("here")) == (36 if text == SHARDS else 150)


def part_tasks(dask_scheduler):
    return {
        str(step[0])
        for step in dask_scheduler.transition_log
        if str(step[0]).startswith("olbench-part-") and step[2] == "memory"
    }


@pytest.mark.parametrize("text", [SHARDS, STREAM], ids=["shards", "stream"])
def test_shards_are_tasks_of_their_own_and_all_count_the_same(text, nursery, here, config, records):
    config(text)
    assert here("run", "small.yaml", "--out", "threads", "--quiet")[0] == 0
    assert here("run", "small.yaml", "--out", "cluster", "--cluster", nursery.file, "--quiet")[0] == 0
    assert without_times(records("cluster")) == without_times(records("threads"))
    with client_of(nursery) as client:
        if text == SHARDS:
            # The first trials may come before the second worker has the data; they run as a whole.
            assert len(client.run_on_scheduler(part_tasks)) >= 3 + 8
        assert client.run_on_scheduler(count_tasks) == 0


def test_a_trial_that_kills_its_worker_fails_and_its_neighbours_do_not(
    nursery, here, config, records, shared
):
    import dask

    Path("killer.py").write_text(KILLER)
    config(
        "permutations: 2\ndatasets: [breast-cancer]\nalgorithms: [perceptron, killer, arow]\n"
        "plugins: [killer.py]\n"
    )
    words = ("--set", "permutations=1", "--set", "algorithms=[killer]", "--quiet")
    assert here("run", "small.yaml", "--cluster", nursery.file, "--out", "one", *words)[0] == 3
    [record] = records("one")
    assert record["error"] == (
        "RuntimeError: workers died with this trial, also when nothing else ran; is there enough memory?"
    )
    # Dask gives up on it twice: first beside others, then alone.
    allowed = dask.config.get("distributed.scheduler.allowed-failures")
    assert len((shared / "kills").read_text()) == 2 * (allowed + 1)
    assert here("run", "small.yaml", "--cluster", nursery.file, "--out", "all", "--quiet")[0] == 3
    ended = {(record["algorithm"], record["status"]) for record in records("all")}
    assert ended == {("perceptron", "ok"), ("killer", "failed"), ("arow", "ok")}
    assert len(records("all")) == 6


def test_the_death_of_the_scheduler_ends_a_run_that_resumes(shared, nursery, start, here, config, counts):
    config(MANY)
    with closing(Nursery(shared, 2, "perceptron,arow,cw")) as doomed:
        run = start("run", "small.yaml", "--cluster", doomed.file, "--out", "cluster", "--quiet")
        wait_for(lambda: lines_of("cluster") >= 20 or run.poll() is not None, "20 trials")
        os.kill(doomed.scheduler, signal.SIGKILL)
        out, err = run.communicate(timeout=WAIT)
    assert (run.returncode, out) == (3, "")
    assert err == (
        f"olbench: the scheduler of {doomed.file} is gone; finished trials are kept, and the same command "
        "resumes from there\n"
    )
    kept = Path("cluster/trials.jsonl").read_bytes()
    assert 20 <= kept.count(b"\n") < 150
    assert here("run", "small.yaml", "--cluster", nursery.file, "--out", "cluster", "--quiet")[0] == 0
    assert Path("cluster/trials.jsonl").read_bytes().startswith(kept)
    assert here("run", "small.yaml", "--jobs", "2", "--out", "here", "--quiet")[0] == 0
    assert counts("cluster") == counts("here")


def count_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def count_threads(dask_worker):
    return dask_worker.state.executing_count


def test_a_worker_with_other_sources_is_refused_or_retired_if_it_comes_late(
    nursery, shared, here, start, config, records
):
    other = shared / "other"
    shutil.copytree(ROOT / "olbench", other / "olbench", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "olbench/errors.py").open("a") as file:
        file.write("\n# another source, the same version\n")
    config(MANY)
    words = ("run", "small.yaml", "--cluster", nursery.file, "--quiet", "--out")
    run = start(*words, "late", "--set", "permutations=20000")
    wait_for(lambda: lines_of("late") or run.poll() is not None, "the first trial")
    with closing(Nursery(shared, 1, python_path=other, join=nursery.file)) as late:
        wait_for(lambda: late.born > 1, "the end of the other worker, which is replaced")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=WAIT)
    assert (run.returncode, out) == (130, "")
    sentences = [line for line in err.splitlines() if "is retired: " in line]
    theirs = f"olbench {olbench.__version__} (sources "
    for sentence in sentences:
        assert sentence.startswith("olbench: the worker tcp://127.0.0.1:")
        assert f"it has {theirs}" in sentence
        assert sentence.endswith(f"), and this run has {identify()}")
    retired = {sentence.split()[3] for sentence in sentences}
    assert retired
    assert not retired & {record["worker"].split()[0] for record in records("late")}
    with closing(Nursery(shared, 1, python_path=other, join=nursery.file)):
        with client_of(nursery) as client:
            wait_for(lambda: len(client.nthreads()) == 3, "the other worker")
        err = here.err(*words, "mixed")
    assert err.startswith(f"olbench: {nursery.file} cannot be used: the worker tcp://127.0.0.1:")
    assert f" has {theirs}" in err
    assert not Path("mixed").exists()


def test_a_worker_that_refuses_a_trial_is_retired_and_a_run_without_workers_ends():
    with ClusterExecutor("local:1") as executor:
        [address] = executor.client.nthreads()
        executor.flying["key"] = refusing, _, _ = SimpleNamespace(key="key"), None, False
        answer = {"worker": f"{address} on this machine", "refused": "it has other sources"}
        with pytest.raises(UserError, match=f"^no worker is left; {address}: it has other sources$"):
            next(executor._take(refusing, answer))


def make_cells(path, X, y):
    """Return the cells of a data set that has a path, but whose examples are these."""
    spec = DatasetSpec("mine", path=str(path))
    source = Source(spec, Dataset("mine", X, y, fingerprint(X, y)), can_reload=False)
    algorithms = AlgorithmSpec("perceptron"), AlgorithmSpec("pa")
    return Online(OnlineExperiment((spec,), algorithms, permutations=4)).cells([source])


@pytest.mark.parametrize(("storage", "place"), [("dense", "nowhere"), ("sparse", "nowhere"), ("dense", "")])
def test_data_that_a_worker_lacks_or_has_with_other_content_is_sent_to_it(
    storage, place, nursery, counts, rng, capsys
):
    Path("mine.libsvm").write_text("1 1:1\n-1 2:1\n")
    X = rng.normal(size=(200, 7)) * (rng.random((200, 7)) < 0.5)
    y = (X[:, 0] >= 0) * 2.0 - 1.0
    path = Path(place, "mine.libsvm").resolve()
    cells = make_cells(path, X if storage == "dense" else sp.csr_matrix(X), y)
    with (
        ClusterExecutor(str(nursery.file)) as executor,
        open_run(Path("cluster"), cells, 1, quiet=True, executor=executor) as run,
    ):
        run.complete()
    assert (len(run.fresh), run.failed, capsys.readouterr().err) == (8, [], "")
    with open_run(Path("here"), cells, 1, quiet=True) as local:
        local.complete()
    assert counts("cluster") == counts("here")


def test_an_edited_plugin_replaces_the_one_before(nursery, olbench, config, records):
    rule = (ROOT / "docs/examples/my_rule.py").read_text()
    config("permutations: 2\ndatasets: [breast-cancer]\nalgorithms: [timid-arow]\nplugins: [rule.py]\n")
    for text in (rule, rule + "\nEDITED = True\n"):
        Path("rule.py").write_text(text)
        done = olbench("run", "small.yaml", "--cluster", nursery.file, "--out", "out", "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
    first, second = records("out")[:2], records("out")[2:]
    assert {(r["number"], r["mistakes"]) for r in first} == {(r["number"], r["mistakes"]) for r in second}
    assert first[0]["code"] != second[0]["code"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["local:0"], "--cluster local:0: give the number of processes, as in local:4"),
        (["nothing.json"], "there is no file nothing.json; --cluster takes tcp://host:8786, local:4 or a "),
        (["127.0.0.1:8786"], "there is no file 127.0.0.1:8786; did you mean tcp://127.0.0.1:8786?"),
        (["small.yaml"], "small.yaml is not a scheduler file: "),
        (["tls://127.0.0.1:1"], "there is no scheduler at tls://127.0.0.1:1: "),
        (["local:2", "--timing", "exclusive"], "--timing exclusive measures on this machine only; "),
    ],
)
def test_a_cluster_that_cannot_be_used_is_refused_with_one_sentence(words, reason, here, config):
    code, out, err = here("run", config(), "--out", "out", "--quiet", "--cluster", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"olbench: {reason}")
    assert not Path("out").exists()


def test_a_local_cluster_without_enough_files_is_refused_with_one_sentence(olbench, config):
    def tighten():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    done = olbench("run", config(), "--cluster", "local:2", "-q", timeout=60, preexec_fn=tighten)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("olbench: a cluster with 2 workers on this machine needs 96 open files")


def test_a_run_without_a_cluster_loads_nothing_of_dask(olbench, config):
    for name in ("dask.py", "distributed.py", "tornado.py"):  # found before those that are installed
        Path(name).write_text("raise SystemExit('loaded')")
    config("permutations: 1\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n")
    done = olbench("run", "small.yaml", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_ctrl_c_leaves_no_trial_and_no_part_of_one_on_the_cluster(nursery, start, config):
    words = ("--cluster", nursery.file, "--out", "cluster", "--set", "splits=40", "--quiet")
    run = start("run", config(SHARDS), *words)
    with client_of(nursery) as client:
        wait_for(lambda: lines_of("cluster") > 80 or run.poll() is not None, "trials in parts")
        assert client.run_on_scheduler(count_tasks) > 30
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=WAIT)
        assert (run.returncode, out) == (130, "")
        assert err == (
            "olbench: stopped; finished trials are kept, and the same command resumes from there\n"
        )
        wait_for(lambda: client.run_on_scheduler(count_tasks) == 0, "an empty scheduler")
        wait_for(lambda: not any(client.run(count_threads).values()), "idle workers")
