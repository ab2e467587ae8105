"""run.json: what was asked for, with what, where and when; and which trials belong to the answer."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from olbench.config import Config, from_record
from olbench.engine import provenance
from olbench.errors import UserError
from olbench.experiments.online import Cell, Known

NAME = "run.json"
#: The folder in a results folder for what ships with the code, beside the user's own run of the same config.
REFERENCE = "reference"


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe(config: Config, cells: list[Cell], known: Known, start: str, end: str | None) -> dict[str, Any]:
    """Return the content of run.json."""
    sources = {cell.source.name: cell.source for cell in cells}
    return {
        "config": json.loads(json.dumps(config.plain())),
        "data": {
            name: {
                "fingerprint": source.fingerprint,
                "rows": source.examples.n,
                "features": source.examples.d,
            }
            for name, source in sources.items()
        },
        "cells": [_cell(cell, known) for cell in cells],
        "seeds": {"seed": config.seed, "streams": ["report", "tune", "split"]},
        "versions": provenance.versions(),
        **provenance.commit(),
        "machine": provenance.machine(),
        "start": start,
        "end": end,
    }


def _cell(cell: Cell, known: Known) -> dict[str, Any]:
    """Return what was chosen for a cell, and the keys of the trials that report it."""
    chosen = cell.step(known).chosen
    return {
        "dataset": cell.source.name,
        "algorithm": cell.spec.id,
        "label": cell.label,
        "params": chosen,
        "options": dict(cell.spec.options),
        "tuning_passes": cell.tuning_passes,
        "keys": [trial.key for trial in cell.reported(known)],
    }


def read(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's run.json."""
    path = folder / NAME
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        shipped = folder / REFERENCE
        hint = f"did you mean {shipped}?" if shipped.is_dir() else f"is {folder} a folder of results?"
        raise UserError(f"there is no {path}; {hint}") from None
    except NotADirectoryError:
        raise UserError(f"{folder} is a file; name the folder of a run, such as results/quick") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not the record of a run")
    return content


def read_config(folder: Path) -> Config:
    """Return the config that a folder was made with."""
    return from_record(read(folder).get("config"), str(folder / NAME))


def write(folder: Path, content: dict[str, Any], name: str = NAME) -> None:
    """Replace run.json, or another file of that kind, as a whole."""
    draft = folder / f".{name}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / name)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UserError(f"cannot write {folder / name}: {error.strerror or error}") from None


def describes(folder: Path, config: Config, cells: list[Cell], known: Known) -> bool:
    """Tell whether run.json is there, finished, and about just this."""
    try:
        there = read(folder)
    except UserError:
        return False
    wanted = describe(config, cells, known, "", "")
    same = ("config", "data", "cells")
    return bool(there.get("end")) and all(there.get(name) == wanted[name] for name in same)
