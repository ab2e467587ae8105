"""The plan of a run: its trials, wave by wave, and what run.json states about its cells and their data."""

from collections import Counter
from collections.abc import Iterator, Sequence

from olbench.errors import UserError, plural
from olbench.protocols.definition import Cell, Known, Stage
from olbench.protocols.tuning import most_frequent, unite
from olbench.records.run_file import CellFacts, DataFacts
from olbench.records.trial import Kind, Trial

#: Every trial of a run is kept in memory until the run ends.
MOST_TRIALS = 1_000_000


def refuse_too_many(cells: Sequence[Cell]) -> None:
    """Refuse a run whose mere list of trials would fill the memory."""
    planned = sum(cell.tuning_passes + cell.repeats for cell in cells)
    if planned > MOST_TRIALS:
        raise UserError(
            f"the config asks for {planned:,} trials, and a run can have {MOST_TRIALS:,}; "
            f"lower the number of {plural(cells[0].protocol.numbered)}, or split the config"
        )


class RunPlan:
    """The stage of each cell. It changes only with the trials that the cell waits for."""

    def __init__(self, cells: Sequence[Cell], is_timed_again: bool):
        self.cells, self.is_timed_again = cells, is_timed_again
        self.stages: dict[int, Stage] = {}
        #: How many trials of each kind there are, as far as that is known.
        self.planned = Counter[Kind]()
        #: The missing trials of each cell that is not complete, or not looked at yet.
        self._waiting: dict[int, list[Trial]] = {place: [] for place in range(len(cells))}
        self._facts: dict[int, CellFacts] = {}

    def next(self, known: Known, dataset: str = "") -> list[Trial]:
        """Return the trials that can run now: known to be needed, and not done. Cells may share trials."""
        due: dict[str, Trial] = {}
        for place, waiting in list(self._waiting.items()):
            if dataset in ("", self.cells[place].source.name):
                left = [trial for trial in waiting if trial.key not in known]
                if len(left) < len(waiting) or not waiting:
                    left = self._advance(place, known)
                due |= {trial.key: trial for trial in left}
        return list(due.values())

    def _advance(self, place: int, known: Known) -> list[Trial]:
        stage = self.cells[place].stage(known)
        if place in self.stages:
            self._count(self.stages[place], -1)
        self._count(stage, 1)
        self._facts.pop(place, None)
        self.stages[place] = stage
        self._waiting[place] = left = [trial for trial in stage.trials if trial.key not in known]
        if not left:
            del self._waiting[place]
        return left

    def _count(self, stage: Stage, sign: int) -> None:
        cell, planned = stage.cell, stage.planned
        tuned = min(planned, cell.tuning_passes)
        again = cell.repeats if self.is_timed_again else 0
        self.planned[cell.kind("tune")] += sign * tuned
        self.planned[cell.kind("report")] += sign * (planned - tuned + again)

    @property
    def trials(self) -> Iterator[Trial]:
        """Every trial that is known to be needed; cells may share trials."""
        return (trial for stage in self.stages.values() for trial in stage.trials)

    @property
    def reported(self) -> Iterator[Trial]:
        return (trial for stage in self.stages.values() for trial in stage.reported)

    def describe_cells(self) -> tuple[CellFacts, ...]:
        for place in self.stages.keys() - self._facts.keys():
            self._facts[place] = describe_cell(self.stages[place])
        return tuple(self._facts[place] for place in sorted(self._facts))


def describe_data(cell: Cell) -> DataFacts:
    source, counts = cell.source, cell.count_labels()
    groups = {} if counts is None else {"sizes": tuple(counts.sum(axis=1).tolist())}
    if counts is not None and not source.classes:
        groups["positives"] = tuple(counts[:, 1].tolist())
    own = source.fingerprint, source.n, source.d, source.majority, tuple(source.prepared)
    return DataFacts(*own, source.class_names, groups)


def describe_cell(stage: Stage) -> CellFacts:
    cell, steps = stage.cell, stage.steps
    chosen = most_frequent(step.chosen for step in steps)
    grids = [step.grid for step in steps] if cell.config.tuning.extends else []
    return CellFacts(
        dataset=cell.source.name,
        algorithm=cell.spec.id,
        entry=cell.entry,
        label=cell.label,
        params=None if chosen is None else cell.params_of(chosen),
        setting={} if chosen is None else cell.setting_of(chosen),
        options=dict(cell.spec.options if chosen is None else cell.options_of(chosen)),
        tuning_passes=stage.passes,
        planned=cell.repeats,
        keys=tuple(trial.key for trial in stage.reported),
        grid={name: values for name in cell.grid if len(values := unite(name, grids)) > len(cell.grid[name])},
        choices=tuple(
            step.chosen and {name: step.chosen[name] for name in cell.grid}
            for step in steps
            if len(steps) > 1
        ),
    )
