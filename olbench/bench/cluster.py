"""What a cluster costs: equal trials with jobs on this machine and on a cluster, in turns."""

import math
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from olbench.bench.cases import dense
from olbench.bench.parallel import equal_trials
from olbench.config.specs import DatasetSpec
from olbench.data.dataset import Dataset
from olbench.data.fingerprint import fingerprint
from olbench.data.source import Source
from olbench.engine.executors import open_executor
from olbench.engine.executors.local import Executor
from olbench.engine.runner import open_run
from olbench.errors import UserError
from olbench.protocols.definition import Cell

#: Processor seconds of a pass, about; a pass over PROBE rows tells how many rows take that long.
SECONDS, PROBE, FEATURES = 0.25, 2_000, 600
#: Rows of the trials that measure the cost of a task: they take next to no time themselves.
TINY = 2


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


def measure(where: str, jobs: int, scale: float, repeats: int) -> ClusterCost:
    """Measure throughput in turns, so that a busy machine slows both sides."""
    long = make_cell(max(TINY, int(scale * count_rows())), 12 * jobs)
    tiny = make_cell(TINY, max(20, int(min(1, scale) * 300)))
    with open_executor(where, (), _refuse) as executor:
        for cell in (long, tiny):  # what comes first pays for connections, data and compilation
            run_all(cell, jobs, executor)
            run_all(cell, jobs, None)
        turns = [(run_all(long, jobs, None), run_all(long, jobs, executor)) for _ in range(repeats)]
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


def count_rows() -> int:
    """Return how many rows make a pass long enough on this machine."""
    cell = make_cell(PROBE, 3)
    return math.ceil(PROBE * SECONDS / min(run_all(cell, 1, None)[1]))


def make_cell(n: int, permutations: int) -> Cell:
    """Return a cell of equal trials on data that every worker has to be sent."""
    X, y = dense(n, FEATURES)
    spec = DatasetSpec(f"made-up-{n}")
    source = Source(spec, Dataset(spec.name, X, y, fingerprint(X, y)), can_reload=False)
    return equal_trials(source, permutations=permutations, curve=1)


def run_all(cell: Cell, jobs: int, executor: Executor | None) -> tuple[float, list[float]]:
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
