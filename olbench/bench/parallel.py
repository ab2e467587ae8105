"""How well trials run in parallel: equal long trials with one job and with several, in one run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np

from olbench.bench.cases import dense
from olbench.config.specs import AlgorithmSpec, Config
from olbench.data.source import Source, make_source
from olbench.engine.runner import open_run
from olbench.protocols import get_protocol
from olbench.protocols.definition import Cell


@dataclass(frozen=True)
class Measurement:
    """Equal trials with a number of jobs: wall-clock seconds, and the memory added at the peak."""

    jobs: int
    trials: int
    seconds: float
    added_bytes: int


def long_cell(n: int, d: int, permutations: int) -> Cell:
    """Return a cell of long trials on made-up examples."""
    return equal_trials(make_source("made-up", *dense(n, d)), permutations=permutations)


def equal_trials(source: Source, **settings: int) -> Cell:
    """Return a cell of equal trials: AROW with a full covariance."""
    algorithm = AlgorithmSpec("arow", options={"covariance": "full", "form": "covariance", "a": 1.0})
    config = Config((source.spec,), (algorithm,), settings=settings)
    [cell] = get_protocol(config.protocol).cells(config, [source])
    return cell


def measure(cell: Cell, jobs: int) -> Measurement:
    """Run all trials of a cell with a number of jobs."""
    with TemporaryDirectory() as folder, open_run(Path(folder), [cell], jobs, quiet=True) as run:
        cell.source.open()
        before, started = resident_memory(), time.perf_counter()
        with _peak() as peak:
            run.complete()
        seconds = time.perf_counter() - started
    return Measurement(jobs, len(run.fresh), seconds, max(0, int(np.max(peak, initial=before)) - before))


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
