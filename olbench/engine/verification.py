"""Whether a recorded run is true: a random sample of its trials runs again, and every number must repeat.

Someone who tampers with records cannot predict the sample. If `altered` of N trials were altered, n drawn
ones miss all of them with the probability of drawing none in the hypergeometric distribution.
"""

import json
import math
import random
import secrets
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from olbench.algorithms import definitions, get_definition, title_of
from olbench.data.fetch import is_present
from olbench.data.source import Source, find_named
from olbench.engine.local import LocalExecutor
from olbench.engine.plan import describe_cell, describe_data
from olbench.engine.resources import default_jobs, refuse_excess
from olbench.engine.stopping import stop_on_interrupt
from olbench.errors import UserError, count, shorten
from olbench.learners.breakdowns import Breakdown
from olbench.protocols import cells_of, get_protocol
from olbench.protocols.definition import Cell, numbers_of
from olbench.protocols.measuring import Measuring, list_missing, list_wanted
from olbench.protocols.recorded import find_contradiction, read_run
from olbench.records import ledger, run_file
from olbench.records.arrays import with_arrays
from olbench.records.bundle import digest_records
from olbench.records.compare import MISSING, Mismatch, find_differences, name_trial, show_values
from olbench.records.container import is_bundle, is_trusted, trust
from olbench.records.quantities import Quantity
from olbench.records.run_file import CellFacts, RunFile
from olbench.records.shipped import find_plugin, find_run
from olbench.records.trial import Record, Trial, code_of

TRIALS, SHARE = 20, 0.05
#: What older run files do not state of their data.
LATER = ("majority", "classes", "groups")
NO_DATA, OTHER_DATA = "data not available", "other data of the same name"
NO_PLUGIN, NO_ALGORITHM = "plugin not trusted", "unknown algorithm"
OTHER_CODE, FAILED = "another version of the algorithm", "it fails here"


def altered_trials(population: int, share: float) -> int:
    """Return how many trials a share of them is: at least one, and the next whole number.

    >>> altered_trials(480, 0.05), altered_trials(7, 0.05)
    (24, 1)
    """
    return min(population, max(1, math.ceil(share * population - 1e-9)))


def detection(population: int, altered: int, drawn: int) -> float:
    """Return the probability that at least one of the altered trials is drawn.

    >>> round(detection(480, 24, 20), 4)
    0.6491
    """
    shares = (max(0, population - altered - number) / (population - number) for number in range(drawn))
    return 1.0 - math.prod(shares)


def sample_size(population: int, share: float, confidence: float) -> int:
    """Return how many trials must be drawn to detect a share of altered ones with this probability.

    >>> sample_size(480, 0.05, 0.99)
    82
    """
    altered = altered_trials(population, share)
    return bisect_left(range(population), confidence, key=lambda drawn: detection(population, altered, drawn))


@dataclass(frozen=True)
class VerifiedRun:
    folder: str
    digest: str
    seed: int
    recorded: int
    population: int
    drawn: tuple[Record, ...]
    mismatches: tuple[Mismatch, ...]
    #: What the run states although its config and its trials do not: one sentence each.
    wrong: tuple[str, ...]
    #: Whether the results could be compared with the config and the trials.
    planned: bool
    missing: int
    #: How many trials the record says have failed; these are not run again.
    recorded_failures: int
    not_rerun: Mapping[str, tuple[Record, ...]]
    #: The numbers that the records have and the new trials do not, or the other way round.
    unchecked: tuple[str, ...]
    share: float
    when: str = field(default_factory=run_file.now)

    @property
    def failed(self) -> tuple[Record, ...]:
        return self.not_rerun.get(FAILED, ())

    @property
    def compared(self) -> int:
        return len(self.drawn) - len(self.failed)

    @property
    def different(self) -> int:
        return len({each.record["key"] for each in self.mismatches})

    @property
    def passed(self) -> bool:
        return not self.mismatches and not self.wrong

    @property
    def probability(self) -> float:
        """The probability of detecting a share of altered trials, among the trials that can run here."""
        if not self.population:
            return 0.0
        return detection(self.population, altered_trials(self.population, self.share), self.compared)

    @property
    def sentence(self) -> str:
        if not self.compared:
            return f"None of {count(self.recorded, 'trial')} ran again, so nothing was verified."
        left = self.recorded - self.population
        trials = count(self.population, "trial")
        ran = f"{self.compared:,} of {f'the {trials} that can run here' if left else trials} ran again"
        if self.different:
            return f"{ran}; {self.different:,} of them {'differ' if self.different > 1 else 'differs'}."
        if self.wrong:
            number = len(self.wrong)
            wrong = f"{count(number, 'statement')} of the run {'is' if number == 1 else 'are'} wrong"
            return f"{ran}, and all matched; but {wrong}."
        among = "the trials" if not left else f"these {trials}"
        altered = f"If {100 * self.share:g}% of {among} had been altered, this would"
        if self.probability >= 1:
            found = f"{altered} certainly have been detected."
        else:
            found = f"{altered} have been detected with probability {_show(self.probability)}."
        rest = f" Nothing was verified about the other {left:,}." if left else ""
        if not self.planned:
            rest += " Whether the results of the run are those of its trials was not verified."
        if self.missing:
            rest += f" The run is incomplete: {count(self.missing, 'reported trial')} missing or failed."
        if self.recorded_failures:
            rest += f" {count(self.recorded_failures, 'trial')} failed by the record; none of them ran again."
        return f"{ran}, and all matched. {found}{rest}{_name_unchecked(self.unchecked)}"

    def name_unrun(self, reason: str, most: int = 5) -> str:
        cells = Counter(f"{each['algorithm']} on {each['dataset']}" for each in self.not_rerun[reason])
        shown = [f"{name} ({number:,})" for name, number in cells.most_common(most)]
        more = len(cells) - len(shown)
        return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _name_unchecked(names: Sequence[str]) -> str:
    return f" Not checked: {', '.join(('times', *map(shorten, names)))}."


def _show(probability: float) -> str:
    """Return a probability, rounded down: a statement must not claim more than was shown."""
    digits = 2 if probability < 0.99 else 4
    scale: int = 10**digits
    return f"{math.floor(probability * scale) / scale:.{digits}f}".rstrip("0").rstrip(".")


class Verifier:
    def __init__(self, run: str | Path, trust_plugins: bool, say: Callable[[str], None]):
        self.folder, self.say = find_run(run), say
        if trust_plugins:
            trust(self.folder)
        self.run = read_run(self.folder)
        self.config, self.protocol = self.run.config, self.run.protocol
        self.no_plugin = ""
        try:
            self.run.load_plugins()
        except UserError as error:
            trusted = is_trusted(self.folder) or not is_bundle(self.folder)
            self.no_plugin = shorten(str(error), 200) if trusted else NO_PLUGIN
        self.known = {definition.id for definition in definitions()}
        self.records = ledger.current(self.folder)
        self.sources: dict[str, Source | str] = {}
        for cell in self.run.file.cells:
            self.run.trials_of(cell, self.records)
        for record in self.good:
            if record["protocol"] == self.protocol.id:
                self.run.check(record)

    @property
    def good(self) -> list[Record]:
        good = (record for record in self.records.values() if record["status"] == "ok")
        return sorted(good, key=lambda record: str(record["key"]))

    def why_not(self, record: Record) -> str:
        """Return why a trial cannot run here, or ''."""
        source = self._source(record["dataset"])
        if isinstance(source, str):
            return source
        if source.fingerprint != record["fingerprint"]:
            return OTHER_DATA
        try:
            definition, protocol = get_definition(record["algorithm"]), get_protocol(record["protocol"])
        except UserError:
            return self.no_plugin or NO_ALGORITHM
        return "" if record["code"] == code_of(definition, protocol.version) else OTHER_CODE

    def _source(self, name: str) -> Source | str:
        if name not in self.sources:
            self.say(f"loading {name}")
            specs = self.config.datasets
            try:
                present = [spec for spec in specs if spec.path or is_present(spec.name)]
                self.sources[name] = find_named(present, name)
            except UserError:
                own = (spec.path for spec in specs if spec.path and spec.name == name.partition("[")[0])
                file = next((f" ({path} is not here or cannot be read)" for path in own), "")
                self.sources[name] = NO_DATA + file
        return self.sources[name]

    def trial(self, record: Record) -> Trial:
        source = self._source(record["dataset"])
        assert isinstance(source, Source)
        # A record may also have what the config does not ask for.
        also = [name for name in self._measures if name in record]
        also += ["predictions"] * bool({"predictions", "margins"} & {*(record.get("arrays") or ())})
        wanted = tuple(dict.fromkeys((*list_wanted(self.protocol, record["role"]), *also)))
        return replace(Trial.of(record), source=source, wanted=wanted)

    @property
    def _measures(self) -> Mapping[str, Quantity]:
        return self.protocol.measures if isinstance(self.protocol, Measuring) else {}

    def compare(self, record: Record, again: Record) -> tuple[list[Mismatch], list[str]]:
        """Return the mismatches of a record, and what only one of both has."""
        known = (*self._measures.values(), *numbers_of(self.protocol))
        names, arrays = {each.name for each in known}, again.get("arrays") or {}
        wrong, unchecked = [], []
        for each in find_differences(known, with_arrays(self.folder, record), again):
            # The columns of a record have grown over time, but a version of a protocol keeps its arrays.
            is_old = each.before is MISSING and each.name not in arrays
            is_unknown = each.now is MISSING and each.name not in names
            if is_old or is_unknown:
                unchecked.append(each.name)
            else:
                wrong.append(each)
        return wrong, unchecked

    def plan_cells(self) -> list[Cell]:
        used = {(record["dataset"], record["fingerprint"]) for record in self.good}
        found = [each for each in self.sources.values() if isinstance(each, Source)]
        sources = [each for each in found if (each.name, each.fingerprint) in used]
        # Algorithms of a plugin that is not trusted, or of a package that is not here, cannot be planned.
        known = [place for place, spec in enumerate(self.config.algorithms) if spec.id in self.known]
        if not sources or not known:
            return []
        config = replace(self.config, algorithms=tuple(self.config.algorithms[place] for place in known))
        return [replace(cell, entry=known[cell.entry]) for cell in cells_of(config, sources)]

    def find_wrong(self, cells: Sequence[Cell]) -> Iterator[str]:
        """Yield what is stated, but does not follow from the config, the data and the trials."""
        reported = {key for cell in self.run.file.cells for key in cell.keys}
        for record in (each for each in self.good if each["protocol"] == self.protocol.id):
            if found := find_contradiction(self.protocol, record):
                yield f"{name_trial(record)}: {found}"
            if record["key"] in reported and (missing := list_missing(self.protocol, record)):
                yield f"{name_trial(record)}: it has no {', '.join(missing)}, which the config asks for"
        names = Counter(_name_cell(cell) for cell in self.run.file.cells)
        yield from (f"{name}: {run_file.NAME} has it {n} times" for name, n in names.items() if n > 1)
        data = {cell.source.name: describe_data(cell) for cell in cells}
        # What cannot be planned here is taken as it is stated.
        left: dict[str, CellFacts] = {}
        for each in self.run.file.cells:
            first = next((self.records[key] for key in each.keys if key in self.records), None)
            reason = self.why_not(first) if first else ""
            if reason == OTHER_CODE and get_definition(each.algorithm).is_own and is_bundle(self.folder):
                yield f"{_name_cell(each)}: the plugin in the bundle is not the code of its trials"
            is_unfinished = each.params is None and not each.keys
            is_known = each.dataset in data and self.config.algorithms[each.entry].id in self.known
            if reason or is_unfinished or not is_known:
                left[_name_cell(each)] = each
        planned = (describe_cell(cell.stage(self.records)) for cell in cells)
        again = replace(
            self.run.file,
            data={**self.run.file.data, **data},
            cells=(*left.values(), *(cell for cell in planned if _name_cell(cell) not in left)),
            titles={id: title_of(id) for id in self.run.file.titles},
        )
        yield from _compare(self.run.file, again)

    def repeat(self, records: Sequence[Record], jobs: int) -> tuple[list[Mismatch], list[str], list[Record]]:
        """Run trials again; return mismatches, what only one of both has, and the records of new failures."""
        mismatches: list[Mismatch] = []
        unchecked: dict[str, None] = {}
        failed: list[Record] = []
        executor = LocalExecutor(jobs, [*map(find_plugin, self.config.plugins)], self.say)
        work = f"running {count(len(records), 'trial')}"
        self.say(work)
        with stop_on_interrupt() as stop:
            for number, again in enumerate(executor.execute(list(map(self.trial, records)), stop), start=1):
                self.say(f"{work}, {number} done")
                record = self.records[again["key"]]
                if again["status"] == "ok":
                    wrong, names = self.compare(record, again)
                    mismatches += wrong
                    unchecked |= dict.fromkeys(names)
                else:
                    failed.append({**record, "error": again["error"]})
            if stop.is_set():
                raise KeyboardInterrupt
        return mismatches, sorted(unchecked), failed


def _name_cell(cell: CellFacts) -> str:
    return f"{cell.label} on {cell.dataset}"


def _compare(stated: RunFile, planned: RunFile) -> Iterator[str]:
    own, other = _list_facts(stated), _list_facts(planned)
    for name in sorted(own.keys() | other.keys()):
        if name not in own or name not in other:
            yield f"{name}: only {run_file.NAME if name in own else 'the config'} has it"
            continue
        for each in dict.fromkeys((*own[name], *other[name])):
            before, now = own[name].get(each), other[name].get(each)
            if before != now and not (before is None and each in LATER):
                before, now = show_values(before, now)
                yield f"{name}: {run_file.NAME} states {each} {before}, its config, data and trials {now}"
                break


def _list_facts(run: RunFile) -> dict[str, dict[str, Any]]:
    """Return what a run file states of each data set, result and algorithm."""
    content = json.loads(json.dumps(run.plain()))
    facts: dict[str, dict[str, Any]] = {f"data set {name}": each for name, each in content["data"].items()}
    for each in facts.values():
        each.pop("prepared", None)  # words, which may change; the fingerprint covers it
    cells = map(_name_cell, run.cells)
    facts |= dict(zip(cells, content["cells"], strict=True))
    return facts | {f"algorithm {id}": {"title": title} for id, title in content.get("titles", {}).items()}


def verify(
    run: str | Path,
    *,
    trials: int | None = None,
    confidence: float | None = None,
    share: float = SHARE,
    seed: int | None = None,
    trust_plugins: bool = False,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> VerifiedRun:
    """Run a random sample of the trials of a folder or a bundle again, and compare every count.

    The sample has `trials` trials, 20 by default; with a `confidence`, enough to detect altered trials, a
    `share` of all, with that probability. `passed` and `sentence` of the result say what was found.
    """
    verifier, jobs = Verifier(run, trust_plugins, say), jobs or default_jobs()
    able, unable = [], dict[str, list[Record]]()
    good = {record["key"]: record for record in verifier.good}
    for record in good.values():
        if reason := verifier.why_not(record):
            unable.setdefault(reason, []).append(record)
        else:
            able.append(record)
    size = TRIALS if trials is None else trials
    if confidence is not None:
        size = sample_size(len(able), share, confidence) if able else 0
    chosen = secrets.randbits(32) if seed is None else seed
    drawn = random.Random(chosen).sample(able, min(size, len(able)))
    cells = verifier.plan_cells() if able else []
    used = {(record["dataset"], record["algorithm"]) for record in drawn}
    refuse_excess([cell for cell in cells if (cell.source.name, cell.spec.id) in used], jobs)
    mismatches, unchecked, failed = verifier.repeat(drawn, jobs)
    if failed:
        unable[FAILED] = failed
    return VerifiedRun(
        folder=str(verifier.folder),
        digest=digest_records(verifier.records.values()),
        seed=chosen,
        recorded=len(good),
        population=len(able),
        drawn=tuple(drawn),
        mismatches=tuple(mismatches),
        wrong=tuple(verifier.find_wrong(cells)),
        planned=bool(cells),
        missing=sum(
            max(0, cell.planned - sum(key in good for key in cell.keys)) for cell in verifier.run.file.cells
        ),
        recorded_failures=len(verifier.records) - len(good),
        not_rerun={reason: tuple(records) for reason, records in unable.items()},
        unchecked=tuple(unchecked),
        share=share,
    )


@dataclass(frozen=True)
class VerifiedTrial:
    record: Record
    mismatches: tuple[Mismatch, ...] = ()
    unchecked: tuple[str, ...] = ()
    not_run: str = ""
    error: str = ""
    breakdown: Breakdown | None = None

    @property
    def sentence(self) -> str:
        if self.not_run:
            return f"It did not run again: {self.not_run}."
        if self.error:
            return f"It fails here: {self.error}"
        if self.mismatches:
            number = len(self.mismatches)
            verb = "differs" if number == 1 else "differ"
            return f"It ran again, and {count(number, 'value')} {verb} from the record."
        protocol = get_protocol(self.record["protocol"])
        reported = self.record.keys() & {each.compared for each in protocol.quantities}
        counts = [each for each in numbers_of(protocol) if each.repeats and each.name in reported]
        shown = ", ".join(f"{each.title} {self.record[each.name]}" for each in counts)
        matched = f"It ran again, and every count matched the record: {shown}."
        return matched + _name_unchecked(self.unchecked)


def verify_trial(run: str | Path, key: str, trust_plugins: bool, say: Callable[[str], None]) -> VerifiedTrial:
    """Run the trial with this key, or beginning of a key, again."""
    verifier = Verifier(run, trust_plugins, say)
    record = verifier.records[ledger.find_key(verifier.records, key, verifier.folder)]
    if reason := verifier.why_not(record):
        return VerifiedTrial(record, not_run=reason)
    wrong, unchecked, failed = verifier.repeat([record], 1)
    if failed:
        return VerifiedTrial(record, error=str(failed[0]["error"]))
    is_flagged = any(each.flag and record.get(each.name) for each in verifier.protocol.recorded)
    breakdown = verifier.protocol.find_breakdown(verifier.trial(record)) if is_flagged else None
    return VerifiedTrial(record, tuple(wrong), tuple(unchecked), breakdown=breakdown)
