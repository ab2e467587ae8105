"""How long a run will still take, from what its trials have taken so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from olbench.protocols.definition import Kind
from olbench.trials.trial import Record


def kind_of(record: Record) -> Kind:
    """Return the kind of a trial that has a record."""
    return record["dataset"], record["algorithm"], str(dict(record["options"]))


@dataclass
class Share:
    """The trials of a kind: how many there will be, what one costs as guessed, what those done took."""

    planned: int
    #: In any unit that all kinds have in common.
    cost: float
    done: int = 0
    timed: int = 0
    seconds: float = 0.0


class TimeLeft:
    """Adds up what is left, each kind at its own mean; a kind not seen yet at its cost beside those seen.

    The longest trials run first, so that the number of trials left says little about the time left.
    """

    def __init__(self, shares: Mapping[Kind, Share], jobs: int):
        self.shares, self.jobs = shares, jobs

    def take(self, record: Record, reused: bool) -> None:
        """Count a trial as done; one of an earlier run, or one that failed, says nothing about time."""
        share = self.shares[kind_of(record)]
        share.done += 1
        if not reused and record["status"] == "ok":
            share.timed += 1
            share.seconds += record["seconds"]

    @property
    def done(self) -> float:
        """The seconds of all passes of this run."""
        return sum(share.seconds for share in self.shares.values())

    def seconds(self, elapsed: float, done: float) -> float:
        """Return the seconds left, where passes of `done` seconds in all were run in the last `elapsed`."""
        # Where few are done, most of what was computed is still in the works: no job does more than one.
        pace = max(1 / self.jobs, elapsed / done if done > 0 else 0.0)
        return pace * sum(
            max(0, share.planned - share.done) * self._mean(share) for share in self.shares.values()
        )

    def _mean(self, share: Share) -> float:
        if share.timed:
            return share.seconds / share.timed
        cost = sum(other.timed * other.cost for other in self.shares.values())
        return share.cost * self.done / cost if cost else 0.0


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
