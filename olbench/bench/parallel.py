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
from olbench.data.source import made_source
from olbench.engine.runner import open_run
from olbench.protocols import get_protocol
from olbench.protocols.definition import Cell
from olbench.specs import AlgorithmSpec, Config, DatasetSpec


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
        (DatasetSpec("made-up"),),
        (AlgorithmSpec("arow", options=options),),
        settings={"permutations": permutations},
    )
    [cell] = get_protocol(config.protocol).cells(config, [made_source("made-up", X, y)])
    return cell


def measure(cell: Cell, jobs: int) -> Measurement:
    """Run all trials of a cell with this many jobs."""
    with TemporaryDirectory() as folder, open_run(Path(folder), [cell], jobs, quiet=True) as run:
        cell.source.open()
        before, started = resident(), time.perf_counter()
        with _peak() as peak:
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
