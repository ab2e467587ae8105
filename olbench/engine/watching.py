"""How far a run is, read from its folder while another process works on it."""

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olbench.engine.estimate import RecentPast, duration, rate
from olbench.trials import ledger, locks, run_file
from olbench.trials.run_file import RunFile

#: The seconds that the rate is measured over.
RECENT = 60.0


@dataclass(frozen=True)
class Standing:
    """The trials that a run has done and those it has in all, by data set."""

    run: RunFile
    done: Counter[str]
    totals: Counter[str]
    failed: int
    #: Whether a process works on the run.
    is_at_work: bool

    @property
    def is_complete(self) -> bool:
        """Whether the run has ended; one that was stopped has not."""
        return bool(self.run.end)


def read_standing(folder: Path) -> Standing:
    """Return the progress of the run in a folder, in this process or another."""
    # Asked first: a run that ends meanwhile has then written that it ended.
    is_at_work = locks.is_held(folder / ledger.LOCK)
    run = run_file.read(folder)
    records = ledger.current(folder)
    tuned = Counter(_kind(record) for record in records.values() if record.get("role") == "tune")
    done, totals = Counter[str](), Counter[str]()
    failed = 0
    for cell in run.cells:
        own = [records[key] for key in cell.keys if key in records]
        failed += sum(record["status"] != "ok" for record in own)
        # The ledger may have candidates of other grids as well, and cells may share their tuning.
        passes = cell.tuning_passes
        if cell.params is None:
            passes = min(passes, tuned[_kind(vars(cell))])
        done[cell.dataset] += len(own) + passes
        totals[cell.dataset] += cell.planned + cell.tuning_passes
    return Standing(run, done, totals, failed, is_at_work)


def _kind(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what the tuning trials of a cell have in common, from a record or from a cell."""
    return facts["dataset"], facts["algorithm"], str(sorted(facts["options"].items()))


@dataclass
class Watch:
    """Follows a run, and measures its rate between looks: a record does not say when a trial ended."""

    folder: Path
    past: RecentPast = field(default_factory=lambda: RecentPast(RECENT))

    def look(self) -> Standing:
        """Return how far the run is now."""
        standing = read_standing(self.folder)
        self.past.note(standing.done.total())
        return standing

    def describe(self, standing: Standing) -> str:
        """Return how far a run is, in one line."""
        done, total = standing.done.total(), standing.totals.total()
        line = f"{done:,} of {total:,} trials"
        if standing.failed:
            line += f", {standing.failed:,} failed"
        if standing.is_complete:
            return f"{line}; the run ended at {standing.run.end}"
        if not standing.is_at_work:
            rest = self._describe_rest()
            return f"{line}; {rest}, and no run is at work here; the same `olbench run` command resumes it"
        (begin, first), (now, last) = self.past[0], self.past[-1]
        if last > first and now > begin:
            speed = (last - first) / (now - begin)
            return f"{line}, {rate(speed)}, about {duration((total - done) / speed)} left"
        return f"{line}; {self._describe_rest()}"

    def _describe_rest(self) -> str:
        """Return how long ago the last trial ended, which tells a slow run from one that hangs."""
        path = self.folder / ledger.NAME
        try:
            age = max(0.0, time.time() - os.stat(path).st_mtime)
        except FileNotFoundError:
            return "no trial has ended yet"
        return f"the last trial ended {duration(age)} ago"
