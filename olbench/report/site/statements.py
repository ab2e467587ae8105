"""Verification statements: who ran trials of a run again, and what came out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from olbench.errors import UserError, shorten

#: The tiers from the weakest to the strongest; a difference stands above all of them.
TIERS = ("recorded", "verified here", "verified by others")
DIFFERS = "a difference was found"
FIELDS: Mapping[str, tuple[type, ...]] = {
    "run": (str,),
    "same": (int,),
    "different": (int, list),
    "wrong_results": (list, NoneType),
    "sentence": (str,),
    "by": (str, NoneType),
    "when": (str, NoneType),
}


@dataclass(frozen=True)
class Tier:
    name: str
    sentences: tuple[str, ...] = ()


RECORDED = Tier(TIERS[0])


def read_statements(paths: Iterable[Path]) -> list[dict[str, Any]]:
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    found = {json.dumps(each, sort_keys=True): each for each in map(_read, files)}
    return [found[text] for text in sorted(found)]


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not JSON; `olbench verify --statement` writes statements") from None
    for name, kinds in FIELDS.items():
        value = content.get(name) if isinstance(content, dict) else None
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise UserError(
                f"{path} is not a statement: its '{name}' is {shorten(repr(value))}; "
                "`olbench verify --statement` writes statements"
            )
    return dict(content)


def find_tier(digest: str, statements: Sequence[Mapping[str, Any]]) -> Tier:
    """One difference counts more than any agreement; a statement without an equal trial verifies nothing."""
    own = [each for each in statements if each["run"] == digest]
    if not own:
        return RECORDED
    sentences = tuple(map(_describe, own))
    if any(each["different"] or each.get("wrong_results") for each in own):
        return Tier(DIFFERS, sentences)
    agreeing = [each for each in own if each["same"] > 0]
    if not agreeing:
        return Tier(RECORDED.name, sentences)
    return Tier(TIERS[2] if any(each.get("by") for each in agreeing) else TIERS[1], sentences)


def _describe(statement: Mapping[str, Any]) -> str:
    by, when = statement.get("by"), statement.get("when") or ""
    who = f"by {by}" if by else "here"
    return " ".join(
        filter(None, (f"Verified {who}{f' on {when[:10]}' if when else ''}:", statement["sentence"]))
    )
