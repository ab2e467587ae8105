"""A run on disk with its experiment; the records of a cell must agree with run.json."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import mode
from typing import Any

from olbench.algorithms import get_definition, load_plugin
from olbench.errors import UserError, shorten
from olbench.protocols import Experiment, Protocol, make_protocol, protocols, read_experiment
from olbench.records import ledger, run_file
from olbench.records.container import is_bundle, is_trusted
from olbench.records.quantities import COUNTS
from olbench.records.run_file import CellFacts, RunFile
from olbench.records.shipped import find_plugin
from olbench.records.trial import Record, code_of, key_of
from olbench.structs import from_plain, is_number

SHARED = ("seed", "fingerprint", "options", "role", "code")


@dataclass(frozen=True)
class RecordedRun:
    folder: Path
    file: RunFile

    @cached_property
    def config(self) -> Experiment:
        node = from_plain(self.file.config, f"{run_file.NAME}.config", paths=True)
        return read_experiment(node, "config")

    @cached_property
    def protocol(self) -> Protocol:
        if self.config.protocol not in {protocol.id for protocol in protocols()}:
            self.load_plugins()
        try:
            return make_protocol(self.config)
        except UserError as error:
            raise UserError(f"{self.folder / run_file.NAME}: {error}") from None

    def load_plugins(self) -> None:
        for path in self.config.plugins:
            if is_bundle(self.folder) and not is_trusted(self.folder):
                raise UserError(
                    f"the bundle {self.folder.name} contains Python code ({path}), which is run only if you "
                    "trust it; read it, then add --trust-plugins"
                )
            load_plugin(find_plugin(path))

    def refuse_edited(self) -> None:
        """Refuse a run whose plugins are no longer the code of its trials."""
        try:
            self.load_plugins()
        except UserError:
            return
        records = ledger.current(self.folder) if self.config.plugins else {}
        for cell in self.file.cells:
            for record in (records[key] for key in cell.keys[:1] if key in records):
                definition = get_definition(cell.algorithm)
                if definition.is_own and record["code"] != code_of(definition, self.protocol.version):
                    raise UserError(
                        f"{cell.label} was edited after the run; run its config again, then bundle it"
                    )

    def check_config(self) -> None:
        """Read the experiment, which checks its keys; plugins are not loaded."""
        for place, cell in enumerate(self.file.cells):
            if cell.entry >= len(self.config.algorithms):
                raise UserError(f"{run_file.NAME}.cells.{place}.entry is beyond the algorithms of the config")

    def trials_of(self, cell: CellFacts, records: Mapping[str, Record]) -> list[Record]:
        """Return the trials of a cell; refuse those of another, or unlike its others."""
        found = [records[key] for key in cell.keys if key in records]
        if reason := self._find_stranger(cell, found):
            raise UserError(
                f"{self.folder / run_file.NAME}: {cell.label} on {cell.dataset} cannot be reported, because "
                f"{reason}; run its config again, which rewrites this file"
            )
        viewed = [self.protocol.view(record, cell.setting) for record in found]
        good = [record for record in viewed if record["status"] == "ok"]
        for record in good:
            self.check(record)
        if good and any(each.same for each in self.protocol.recorded):
            usual = mode(record["n"] for record in good)
            for record in (each for each in good if each["n"] != usual):
                raise self.refuse(record, f"its n is {record['n']}, and that of its other trials {usual}")
        return viewed

    def check(self, record: Record) -> None:
        """Refuse an edited record even if its checksum is valid."""
        if defect := find_defect(self.protocol, record):
            raise self.refuse(record, defect)
        if not _has_own_key(record):
            raise self.refuse(record, "its key does not match its fields")

    def refuse(self, record: Record, reason: str) -> UserError:
        return refuse_record(record, self.folder / ledger.NAME, "reported", reason)

    def _find_stranger(self, cell: CellFacts, records: Sequence[Record]) -> str:
        """Return how a trial differs from what all trials of its cell share, or ''."""
        wanted = {"protocol": self.protocol.id, "dataset": cell.dataset, "algorithm": cell.algorithm}
        shared = [name for name in SHARED if name != "options" or not cell.choices]
        wanted |= {name: records[0][name] for name in shared if records}
        numbers = Counter(record["number"] for record in records)
        for record in records:
            for name, value in wanted.items():
                if record[name] != value:
                    own, other = shorten(repr(record[name])), shorten(repr(value))
                    return f"the {name} of its trial {record['key']} is {own} and not {other}"
            if numbers[record["number"]] > 1:
                return f"another trial has the number of its trial {record['key']}, {record['number']}"
        return ""


def read_run(folder: Path) -> RecordedRun:
    run = RecordedRun(folder, run_file.read(folder))
    if is_bundle(folder) and is_trusted(folder):
        run.load_plugins()
    with run_file.refusal(folder):
        run.check_config()
    return run


def refuse_record(record: Record, path: Path, use: str, reason: str) -> UserError:
    return UserError(
        f"{path}: the trial {record['key']} cannot be {use}, because {reason}; remove its line, and the next "
        "run computes that trial again"
    )


def find_defect(protocol: Protocol, record: Record) -> str:
    """Return why a record does not fit a protocol, such as a missing number, or ''."""
    headline = type(protocol).quantities[0]
    for name, may_be_undefined in _list_fields(protocol).items():
        value = record.get(name, None if name in headline.fields else 0)
        if not is_number(value) and not (value is None and may_be_undefined):
            return f"its {name} is {'missing' if value is None else shorten(repr(value))}"
    if headline.ratio and not record[headline.ratio[1]]:
        return f"its {headline.ratio[1]} is 0"
    for each in (*protocol.quantities, *protocol.recorded):
        if each.ratio and record.get(each.ratio[0]) and not record.get(each.ratio[1]):
            return f"it has {each.ratio[0]}, but its {each.ratio[1]} is 0"
    return ""


def find_contradiction(protocol: Protocol, record: Record) -> str:
    """Return how a count differs from the end of its own curve or the sum of its groups, or ''."""
    counted = [each for each in protocol.series if each.per_example]
    for name in dict.fromkeys((*(each.of for each in counted), "groups")):
        if not isinstance(record.get(name, {}), dict):
            return f"its {name} is {shorten(repr(record[name]))}"
    for each in counted:
        curve = record.get(each.of, {})
        points, counts = curve.get(each.along), curve.get(each.name)
        if points and counts and points[-1] == record["n"] and counts[-1] != record[each.name]:
            return f"its {each.name} are {record[each.name]}, but its {each.of} ends at {counts[-1]}"
    for name, parts in record.get("groups", {}).items():
        count = record.get("errors" if name == "mistakes" and "errors" in record else name)
        total = sum(parts) if all(map(is_number, parts)) else "no numbers"
        if name in COUNTS and count is not None and total != count:
            return f"its {name} are {count}, but those of its groups are {total}"
    return ""


@lru_cache(maxsize=8)
def _list_fields(protocol: Protocol) -> dict[str, bool]:
    """Return the numbers of a record, and whether each may be undefined: a measure that the config adds."""
    usual = {each.name for each in (*type(protocol).quantities, *protocol.recorded)}
    added = {each.name for each in protocol.quantities} - usual
    every = (*protocol.quantities, *protocol.recorded)
    return {name: name in added for each in every for name in each.fields}


def _has_own_key(record: Record) -> bool:
    if key_of(record) == record["key"]:
        return True
    # The settings of a user's own protocol may have numbers as keys, which JSON turns into text.
    setting = json.loads(json.dumps(record["setting"]), object_hook=_restore_numbers)
    return bool(key_of({**record, "setting": setting}) == record["key"])


def _restore_numbers(mapping: dict[str, Any]) -> dict[Any, Any]:
    """Turn keys that look like whole numbers back into numbers."""
    numbers = all(re.fullmatch("-?[0-9]{1,18}", key) for key in mapping)
    return {int(key) if numbers else key: value for key, value in mapping.items()}
