"""Kills, full disks and dead workers: `python -m benchmarks.torture --kills 1000`.

Runs are killed at random moments and resumed, find no room for the next line, and lose the processes that
they work with. Then every results folder is completed and compared with a run that nobody disturbed: no trial
may be lost, none may be there twice, and no count may differ. Exits with 1 if any of them does.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Many short trials: with curves and a tuning, with measures and predictions, with arrays.
CONFIGS = {
    "online": """\
seed: 5
permutations: 60
curve: 20
datasets: [synthetic]
algorithms: [perceptron, arow, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}, cw]
tuning: {search: grid}
""",
    "stream": """\
protocol: stream
seed: 5
window: 200
delay: 20
keep: predictions
measures: [auc]
datasets: [synthetic, synthetic-noise]
algorithms: [perceptron, romma, pa1, arow, scw2]
tuning: {search: grid, prefix: 0.2}
""",
    "folds": """\
protocol: crossval
seed: 5
folds: 5
datasets: [breast-cancer, digits-1-vs-7]
algorithms: [perceptron, {id: arow, params: {r: 1.0}}, {id: pa1, params: {C: 1.0}}]
""",
}
WORKERS = """\
seed: 5
permutations: 24
datasets: [breast-cancer]
algorithms: [slow]
plugins: [slow.py]
"""
SLOW = """\
import time
from olbench import contestant


@contestant("slow")
def slow():
    '''Take some hundredths of a second for a pass.'''
    return Slow()


class Slow:
    def predict_one(self, x):
        return sum(x.values()) > 2000

    def learn_one(self, x, y):
        time.sleep(5e-5)
"""
#: What differs from run to run.
TIMES = ("seconds", "cpu_seconds", "checksum", "arrays", "timing")


@dataclass
class Losses:
    """What the folders of one kind of torture lack or have too often."""

    what: str
    events: int = 0
    folders: int = 0
    trials: int = 0
    lost: int = 0
    doubled: int = 0
    changed: int = 0
    started: float = field(default_factory=time.monotonic)

    def compare(self, folder: Path, whole: Path) -> None:
        """Count the differences between a folder and one of a run without disturbance."""
        found, expected = successes(folder), successes(whole)
        keys = Counter(record["key"] for record in found)
        wanted = {record["key"]: without_times(record) for record in expected}
        self.folders += 1
        self.trials += len(found)
        self.lost += len(wanted.keys() - keys.keys())
        self.doubled += sum(number - 1 for number in keys.values()) + len(keys.keys() - wanted.keys())
        self.changed += sum(without_times(record) != wanted.get(record["key"]) for record in found)
        self.changed += sum(not arrays_are_whole(record, folder) for record in found)

    def describe(self) -> str:
        return (
            f"{self.what:<8} {self.events:>6,} times in {self.folders:>4,} folders with {self.trials:>8,} "
            "trials: "
            f"{self.lost:,} lost, {self.doubled:,} doubled, {self.changed:,} changed "
            f"({time.monotonic() - self.started:,.0f} s)"
        )

    @property
    def is_clean(self) -> bool:
        """Whether nothing is lost, doubled or changed, and anything was tried."""
        return not (self.lost or self.doubled or self.changed) and self.trials > 0


def successes(folder: Path) -> list[dict[str, Any]]:
    """Return the records of trials that succeeded, read without the help of olbench."""
    lines = (folder / "trials.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["status"] == "ok"]


def without_times(value: Any) -> Any:
    """Return a record without what differs from run to run, in its curves too."""
    if not isinstance(value, dict):
        return value
    return {name: without_times(item) for name, item in value.items() if name not in TIMES}


def arrays_are_whole(record: dict[str, Any], folder: Path) -> bool:
    """Return whether every array that a record refers to matches its checksum."""
    from olbench.errors import UserError
    from olbench.records.arrays import read_array

    try:
        for reference in record.get("arrays", {}).values():
            read_array(folder, reference)
    except UserError:
        return False
    return True


class Experiment:
    """A config that is planned and compiled once, and runs in forks of this process."""

    def __init__(self, name: str, text: str):
        from olbench.api import plan
        from olbench.engine.local import warm_up
        from olbench.engine.stopping import StopFlag
        from olbench.protocols.reading import read_config
        from olbench.records import provenance

        path = Path(f"{name}.yaml")
        path.write_text(text)
        config = read_config(path)
        self.plan = plan(config, 2)
        warm_up([trial for cell in self.plan.cells for trial in cell.stage({}).trials], StopFlag())
        provenance.commit()
        self.whole = Path(f"{name}-whole")
        started = time.monotonic()
        assert self.run(self.whole) == 0
        self.seconds = time.monotonic() - started
        self.size = (self.whole / "trials.jsonl").stat().st_size

    def start(self, folder: Path, room: int = resource.RLIM_INFINITY) -> int:
        """Start a run in a fork, with so many bytes of room for each file; return its process."""
        from olbench.api import complete
        from olbench.cli.run import show_end
        from olbench.errors import UserError

        child = os.fork()
        if child:
            return child
        code = 99
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            code = show_end(complete(self.plan.cells, folder, self.plan.jobs, quiet=True), self.plan, True)
        except UserError:
            code = 2
        finally:
            os._exit(code)

    def run(self, folder: Path, room: int = resource.RLIM_INFINITY) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.start(folder, room), 0)[1])


def torture_with_kills(experiments: list[Experiment], kills: int, moments: random.Random) -> Losses:
    """Kill runs and resume them: most after they have added some trials, the others at any moment."""
    losses, used, writing = Losses("kills"), {}, 0
    while losses.events < kills:
        number = len(used)
        experiment = experiments[number % len(experiments)]
        folder = Path(f"killed{number}")
        before = size_of(folder / "trials.jsonl")
        child = experiment.start(folder)
        wait_for_growth(folder / "trials.jsonl", moments.randint(0, experiment.size // 8), child)
        time.sleep(moments.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), f"a run ended with {code}"
        if code:
            losses.events += 1
            writing += size_of(folder / "trials.jsonl") > before
        else:
            used[folder] = experiment
    print(f"{writing:,} of {losses.events:,} kills hit a run that had added trials to its ledger", flush=True)
    used[Path(f"killed{len(used)}")] = experiments[len(used) % len(experiments)]
    for folder, experiment in used.items():
        assert experiment.run(folder) == 0
        losses.compare(folder, experiment.whole)
    return losses


def wait_for_growth(path: Path, growth: int, child: int) -> None:
    """Wait until a file has grown by so many bytes, or the process that writes it has ended.

    Waiting for a time would kill a run before it writes wherever the machine is slow.
    """
    enough = size_of(path) + growth
    while size_of(path) < enough:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.001)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def torture_with_full_disks(experiments: list[Experiment], times: int, sizes: random.Random) -> Losses:
    """Let a file take only so many bytes, some more each time, until the run is through."""
    losses, number = Losses("disks"), 0
    while losses.events < times:
        experiment, folder = experiments[number % len(experiments)], Path(f"full{number}")
        room = 0
        while True:
            room += sizes.randint(1, experiment.size // 2)
            code = experiment.run(folder, room)
            assert code in (0, 2), f"a run ended with {code}"
            if code == 0:
                break
            losses.events += 1
        losses.compare(folder, experiment.whole)
        number += 1
    return losses


def torture_on_small_disk(experiment: Experiment) -> Losses | None:
    """Fill a file system, make it larger and go on; None where mounting one is not allowed."""
    losses, disk = Losses("tmpfs"), Path("disk")
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48k", "none", disk], capture_output=True
    ).returncode:
        return None
    try:
        size = 48
        while (code := experiment.run(disk / "out")) != 0:
            assert code == 2, f"a run ended with {code}"
            losses.events += 1
            size += 96
            subprocess.run(["mount", "-o", f"remount,size={size}k", disk], check=True, capture_output=True)
        losses.compare(disk / "out", experiment.whole)
    finally:
        subprocess.run(["umount", disk], check=True)
    return losses


def torture_with_dead_workers(deaths: int, moments: random.Random) -> Losses:
    """Kill worker processes of runs whose learner is a Python object; a trial that died runs again."""
    Path("slow.py").write_text(SLOW)
    Path("workers.yaml").write_text(WORKERS)
    whole, folder, losses = Path("workers-whole"), Path("workers-killed"), Losses("workers")
    assert run_command(whole).wait() == 0
    number = 0
    while losses.events < deaths:
        folder = Path(f"workers{number}")
        code = 3
        while code == 3:
            run = run_command(folder)
            while run.poll() is None:
                time.sleep(moments.uniform(0.05, 0.6))
                workers = find_workers(run.pid) if losses.events < deaths else []
                if workers:
                    os.kill(moments.choice(workers), signal.SIGKILL)
                    losses.events += 1
            code = run.wait()
            assert code in (0, 3), f"a run ended with {code}"
        losses.compare(folder, whole)
        number += 1
    return losses


def run_command(folder: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "olbench", "run", "workers.yaml", "--out", folder, "--jobs", "2", "-q"]
    return subprocess.Popen(words, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)})


def find_workers(parent: int) -> list[int]:
    found = []
    for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in tasks.read_text().split():
            try:
                words = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            if b"popen_loky" in words:
                found.append(int(child))
    return found


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="how many runs to kill")
    parser.add_argument("--disks", type=int, default=20, help="how many times the disk is full")
    parser.add_argument("--deaths", type=int, default=10, help="how many workers to kill")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same moments")
    options = parser.parse_args(words)
    draws, home = random.Random(options.seed), Path.cwd()
    outcomes: list[Losses] = []
    with tempfile.TemporaryDirectory(prefix="olbench-torture-") as folder:
        os.chdir(folder)
        try:
            experiments = [Experiment(name, text) for name, text in CONFIGS.items()]
            outcomes.append(show(torture_with_kills(experiments, options.kills, draws)))
            outcomes.append(show(torture_with_full_disks(experiments, options.disks, draws)))
            small = torture_on_small_disk(experiments[0])
            if small is None:
                print("tmpfs    skipped: mounting a small file system is not allowed here")
            else:
                outcomes.append(show(small))
            outcomes.append(show(torture_with_dead_workers(options.deaths, draws)))
        finally:
            os.chdir(home)
    return 0 if all(each.is_clean for each in outcomes) else 1


def show(losses: Losses) -> Losses:
    print(losses.describe(), flush=True)
    return losses


if __name__ == "__main__":
    sys.exit(main())
