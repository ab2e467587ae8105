"""Progressive validation: every example of a stream is predicted, counted and then learnt, once.

Neither the number of examples nor that of the features is known. Learners grow with the highest index, and
one block of text is in memory at a time. The counts are those of a pass over the same examples in a file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from olbench.algorithms.plugins import run_rule
from olbench.config.specs import AlgorithmSpec, Config
from olbench.data.readers.libsvm import BlockReader, TextBlock
from olbench.errors import UserError
from olbench.learn.algorithm import Algorithm, make_algorithm
from olbench.learn.examples import Examples, Floats
from olbench.learn.learners import Learner
from olbench.memory import memory_limit, show_size
from olbench.quantities import MISTAKE_RATE

#: The number of examples after which running counts are first reported; then whenever the number doubles.
FIRST_REPORT = 100
#: The share of features for which a learner that has to grow makes room ahead, to grow less often.
SPARE = 1 / 8


@dataclass
class Entrant:
    """A learner in a stream, and its time."""

    name: str
    algorithm: Algorithm
    learner: Learner
    seconds: float = 0.0

    def describe(self) -> dict[str, Any]:
        """Return its counts as plain values."""
        learner, rounds = self.learner, self.learner.rounds
        return {
            "algorithm": self.algorithm.id,
            "name": self.name,
            "params": dict(self.algorithm.params),
            "examples": rounds,
            "mistakes": learner.mistakes,
            MISTAKE_RATE.name: learner.mistakes / rounds if rounds else None,
            "updates": learner.updates,
            "breakdowns": learner.breakdowns,
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True)
class RunningCounts:
    """The mistakes of every entrant after a number of examples."""

    examples: int
    mistakes: tuple[int, ...]


def enter(config: Config) -> list[Entrant]:
    """Return the entrants of a config, whose algorithms are run as they are: a stream cannot tune them."""
    if config.tuning.search != "none" or config.protocol != Config.protocol:
        raise UserError(
            "a stream passes only once, for one pass of every algorithm; tune on a file or a sample of it"
        )
    entrants = []
    for spec in config.algorithms:
        algorithm = make_algorithm(spec.id, **spec.params, **spec.options)
        learner = algorithm.start(1)
        learner.grow(2)  # a learner that cannot says so before anything is read
        entrants.append(Entrant(_name(spec, config.algorithms), algorithm, learner))
    return entrants


def _name(spec: AlgorithmSpec, specs: Sequence[AlgorithmSpec]) -> str:
    alike = [other for other in specs if other.id == spec.id]
    return spec.name or (spec.id if len(alike) == 1 else f"{spec.id}-{alike.index(spec) + 1}")


@dataclass
class LineStream:
    """One pass of some entrants over a stream of LIBSVM text."""

    entrants: Sequence[Entrant]
    positive: Sequence[float] = ()
    #: The examples between two reports; 0 to report at doubling numbers.
    every: int = 0
    examples: int = 0
    reader: BlockReader = field(default_factory=BlockReader)

    def __post_init__(self) -> None:
        self._signs = _Signs(self.positive)
        self._next = self.every or FIRST_REPORT
        for entrant in self.entrants:
            entrant.learner.warm_up()

    @property
    def features(self) -> int:
        """The number of features so far, as a file would have them."""
        return max(0, self.reader.highest + 1 - self.reader.first)

    def run(self, source: IO[bytes], name: str) -> Iterator[RunningCounts]:
        """Learn all examples; yield the running counts every so often, and after the last block of all."""
        for block in self.reader.blocks(source, name):
            yield from self._learn(block)
        if self._signs.seen.size == 1:
            label = self._signs.seen[0]
            raise UserError(f"{name}: every example has the label {label:g}; two distinct labels are needed")

    def _learn(self, block: TextBlock) -> Iterator[RunningCounts]:
        rows = block.rows
        if not rows.n:
            return
        labels = self._signs.map(block)
        self._grow(block)
        rows.keep(np.ones(rows.n, dtype=bool))
        ends = self._ends(rows.n)
        examples = _as_examples(rows, self.entrants[0].learner.d)
        order, counts = np.arange(rows.n), []
        for entrant in self.entrants:

            def learn(entrant: Entrant = entrant) -> None:
                found, seconds = entrant.learner.trace(examples.rows(), labels, order, ends)
                entrant.seconds += float(seconds[-1])
                counts.append(found[:, 0])

            run_rule(entrant.algorithm.definition, learn)
        begin = self.examples
        self.examples += rows.n
        for k, end in enumerate(ends[:-1].tolist()):
            yield RunningCounts(begin + end, tuple(int(column[k]) for column in counts))

    def _ends(self, size: int) -> Any:
        """Return how many rows of a block there are before each report, and all of them."""
        ends = []
        while self._next <= self.examples + size:
            ends.append(self._next - self.examples)
            self._next += self.every or self._next
        return np.array([*ends, size], dtype=np.int64)

    def _grow(self, block: TextBlock) -> None:
        """Make room for the highest index so far, if memory allows."""
        needed, room = self.reader.highest + 1, self.entrants[0].learner.d
        if needed <= room:
            return
        limit = memory_limit()
        if self._plan(needed) > limit:
            index = self.reader.highest
            found = re.compile(rb"(?<=\s)0*%d:" % index).search(block.text, 0, block.size)
            line = block.lines + block.text.count(b"\n", 0, found.start() if found else 0) + 1
            raise UserError(
                f"{block.name}:{line}: index {index} needs {show_size(self._plan(needed))} for the learners, "
                f"and {show_size(limit)} may be used; give features smaller numbers, or set another limit "
                "with --memory"
            )
        spare = int(needed * (1 + SPARE))
        for entrant in self.entrants:
            entrant.learner.grow(spare if self._plan(spare) <= limit else needed)

    def _plan(self, d: int) -> int:
        return sum(entrant.algorithm.memory_bytes(d) for entrant in self.entrants)


def _as_examples(rows: Any, d: int) -> Examples:
    """Return the rows of a block as examples, in place."""
    columns = rows.indices[: rows.entries].view(np.uint32)
    indptr = rows.indptr[: rows.n + 1]
    return Examples(rows.n, d, np.empty((0, d)), rows.data[: rows.entries], columns, indptr, False)


class _Signs:
    """Maps labels to -1 and +1 as they come, by the rules of a file as far as a stream allows.

    Of two labels the larger is +1. Which one that is can be told from the first block that has both; before,
    1 counts as positive, and 0 and -1 count as negative.
    """

    def __init__(self, positive: Sequence[float]):
        self.positive = np.unique(np.asarray(positive, dtype=np.float64))
        self.given = bool(len(positive))
        self.seen: Floats = np.empty(0)

    def map(self, block: TextBlock) -> Floats:
        """Return the sign of each label of a block."""
        labels = block.rows.labels[: block.rows.n]
        fresh = np.setdiff1d(labels, self.seen)
        if fresh.size:
            self._meet(fresh, labels, block)
        return np.where(np.isin(labels, self.positive), 1.0, -1.0)

    def _meet(self, fresh: Floats, labels: Floats, block: TextBlock) -> None:
        """Take note of labels that occur for the first time; refuse what contradicts earlier examples."""
        before, self.seen = self.seen, np.union1d(self.seen, fresh)
        if self.given:
            return
        remedy = "say which labels are positive with --positive"
        if self.seen.size > 2:
            row = int(np.flatnonzero(~np.isin(labels, self.seen[:2] if not before.size else before))[0])
            distinct = before.size or 2
            raise block.refuse(row, f"label {labels[row]:g} is one more than {distinct} labels; {remedy}")
        if self.seen.size == 1 and abs(self.seen[0]) > 1:
            raise block.refuse(0, f"the stream begins with the label {self.seen[0]:g} alone; {remedy}")
        positive = self.seen[1:] if self.seen.size == 2 else self.seen[self.seen == 1]
        if before.size and np.isin(before, positive).all() != np.isin(before, self.positive).all():
            row = int(np.flatnonzero(labels == fresh[0])[0])
            raise block.refuse(row, f"label {fresh[0]:g} comes after {before[0]:g} alone; {remedy}")
        self.positive = positive
