"""How fast equal trials run: with one job and with several, and with jobs and on a cluster, in turns."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread

from olbench.bench.cases import dense
from olbench.config.specs import AlgorithmSpec, Config, DatasetSpec
from olbench.data.dataset import Dataset, fingerprint
from olbench.data.source import Source, make_source
from olbench.engine.executors import open_executor
from olbench.engine.executors.local import Executor
from olbench.engine.runner import open_run
from olbench.errors import UserError
from olbench.protocols import cells_of
from olbench.protocols.definition import Cell

#: Processor seconds of a pass on a cluster, about; a pass over PROBE rows tells how many rows take that long.
SECONDS, PROBE, FEATURES = 0.25, 2_000, 600
#: Rows of the trials that measure the cost of a task: they take next to no time themselves.
TINY = 2


@dataclass(frozen=True)
class JobsCost:
    """Equal trials with a number of jobs: wall-clock seconds, and the memory added at the peak."""

    jobs: int
    trials: int
    seconds: float
    added_bytes: int


@dataclass(frozen=True)
class ClusterCost:
    """Medians over the turns: how fast equal trials are with local jobs and on a cluster."""

    trials: int
    #: The processor time of a pass.
    seconds: float
    #: Trials per second.
    local: float
    cluster: float
    #: The throughput of the cluster relative to that of the local jobs, in the same turn.
    ratio: float
    #: Seconds per trial where trials do next to nothing, on the cluster.
    task: float


def long_cell(n: int, d: int, permutations: int) -> Cell:
    """Return a cell of long trials on made-up examples."""
    return equal_trials(make_source("made-up", *dense(n, d)), permutations=permutations)


def sent_cell(n: int, permutations: int) -> Cell:
    """Return a cell of equal trials on data that every worker has to be sent."""
    X, y = dense(n, FEATURES)
    spec = DatasetSpec(f"made-up-{n}")
    source = Source(spec, Dataset(spec.name, X, y, fingerprint(X, y)), can_reload=False)
    return equal_trials(source, permutations=permutations, curve=1)


def equal_trials(source: Source, **settings: int) -> Cell:
    """Return a cell of equal trials: AROW with a full covariance."""
    algorithm = AlgorithmSpec("arow", options={"covariance": "full", "form": "covariance", "a": 1.0})
    config = Config((source.spec,), (algorithm,), settings=settings)
    [cell] = cells_of(config, [source])
    return cell


def measure_jobs(cell: Cell, jobs: int) -> JobsCost:
    """Run all trials of a cell with a number of jobs."""
    cell.source.open()
    before = resident_memory()
    with _peak() as peak:
        seconds, passes = run_all(cell, jobs)
    return JobsCost(jobs, len(passes), seconds, max(0, max(peak, default=before) - before))


def measure_cluster(where: str, jobs: int, scale: float, repeats: int) -> ClusterCost:
    """Measure throughput in turns, so that a busy machine slows both sides."""
    # How many rows make a pass long enough on this machine.
    rows = math.ceil(PROBE * SECONDS / min(run_all(sent_cell(PROBE, 3), 1)[1]))
    long = sent_cell(max(TINY, int(scale * rows)), 12 * jobs)
    tiny = sent_cell(TINY, max(20, int(min(1, scale) * 300)))
    with open_executor(where, (), _refuse) as executor:
        for cell in (long, tiny):  # what comes first pays for connections, data and compilation
            run_all(cell, jobs, executor)
            run_all(cell, jobs)
        turns = [(run_all(long, jobs), run_all(long, jobs, executor)) for _ in range(repeats)]
        tasks = [run_all(tiny, jobs, executor)[0] for _ in range(repeats)]
    passes = [seconds for turn in turns for seconds in turn[0][1]]
    local, cluster = ([seconds for seconds, _ in side] for side in zip(*turns, strict=True))
    return ClusterCost(
        trials=long.repeats,
        seconds=median(passes),
        local=long.repeats / median(local),
        cluster=long.repeats / median(cluster),
        ratio=median(mine / its for mine, its in zip(local, cluster, strict=True)),
        task=median(tasks) / tiny.repeats,
    )


def run_all(cell: Cell, jobs: int, executor: Executor | None = None) -> tuple[float, list[float]]:
    """Run all trials of a cell; return the seconds of the run, and the processor time of every pass."""
    with (
        TemporaryDirectory() as folder,
        open_run(Path(folder), [cell], jobs, quiet=True, executor=executor) as run,
    ):
        started = time.perf_counter()
        run.complete()
        seconds = time.perf_counter() - started
    if run.stop.is_set():
        raise KeyboardInterrupt
    if run.failed:
        raise UserError(f"a trial failed: {run.failed[0]['error']}")
    return seconds, [record["cpu_seconds"] for record in run.fresh]


def _refuse(text: str) -> None:
    raise UserError(text.removeprefix("olbench: "))


def resident_memory() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


@contextmanager
def _peak() -> Iterator[list[int]]:
    """Yield a list that receives the resident memory some fifty times a second."""
    samples: list[int] = []
    end = Event()

    def watch() -> None:
        while not end.wait(0.02):
            samples.append(resident_memory())

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield samples
    finally:
        end.set()
        watcher.join()
