"""How well trials run side by side: equal long trials with one job and with several, in one run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np

from olbench.bench.cases import dense
from olbench.config import AlgorithmSpec, Config, DatasetSpec
from olbench.engine.ledger import open_ledger
from olbench.engine.progress import Progress
from olbench.engine.runner import Run
from olbench.engine.stopping import StopFlag
from olbench.examples import as_examples
from olbench.experiments.online import Cell
from olbench.experiments.sources import Source


@dataclass(frozen=True)
class Measurement:
    """Equal trials with a number of jobs: the wall clock, and the memory they added at their peak."""

    jobs: int
    trials: int
    seconds: float
    added_bytes: int


def long_cell(n: int, d: int, permutations: int) -> Cell:
    """Return a cell of equal trials: AROW with a full covariance on made-up examples."""
    X, y = dense(n, d)
    options = {"covariance": "full", "form": "covariance", "a": 1.0}
    config = Config(
        (DatasetSpec("made-up"),), (AlgorithmSpec("arow", options=options),), permutations=permutations
    )
    return Cell(config, Source(config.datasets[0], "made-up", "", as_examples(X), y), config.algorithms[0])


def measure(cell: Cell, jobs: int) -> Measurement:
    """Run all trials of a cell with this many jobs."""
    with TemporaryDirectory() as folder, open_ledger(Path(folder)) as ledger, _peak() as peak:
        run = Run([cell], ledger, jobs, StopFlag(), Progress())
        before, started = resident(), time.perf_counter()
        run.complete()
        seconds = time.perf_counter() - started
    return Measurement(jobs, len(run.fresh), seconds, max(0, int(np.max(peak, initial=before)) - before))


def resident() -> int:
    """Return the bytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


@contextmanager
def _peak() -> Iterator[list[int]]:
    """Yield a list that fills with the memory held, some times a second."""
    seen: list[int] = []
    end = Event()

    def watch() -> None:
        while not end.wait(0.02):
            seen.append(resident())

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        end.set()
        watcher.join()
