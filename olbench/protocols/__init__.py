"""Protocols: how an experiment is carried out, one file each.

In: an experiment (a typed config) and the sources of its data.
Out: cells, which make trials; and the outcome of a trial.
"""

from collections.abc import Sequence

from olbench.data.source import Source
from olbench.errors import UserError, show_name, suggest
from olbench.protocols.definition import REGISTRY, Cell, Protocol, protocol
from olbench.protocols.specs import Config

__all__ = ["Protocol", "cells_of", "get_protocol", "protocol", "protocols"]


def protocols() -> list[Protocol]:
    return REGISTRY.listed()


def get_protocol(id: str) -> Protocol:
    REGISTRY.load()
    if id not in REGISTRY:
        known = [each.id for each in protocols()]
        raise UserError(f"unknown protocol {show_name(id)}{suggest(id, known)}; there are {', '.join(known)}")
    return REGISTRY[id]


def cells_of(config: Config, sources: Sequence[Source]) -> list[Cell]:
    return get_protocol(config.protocol).configured(config).cells(config, sources)
