"""Protocols: how an experiment is carried out, one file each.

In: an experiment (a typed config) and the sources of its data.
Out: cells, which make trials; and the outcome of a trial.
"""

from collections.abc import Sequence

from olbench.data.source import Source
from olbench.errors import UserError, show_name, suggest
from olbench.protocols.definition import REGISTRY, Cell
from olbench.protocols.definition import Protocol as Protocol
from olbench.protocols.definition import protocol as protocol
from olbench.protocols.specs import Experiment as Experiment
from olbench.protocols.specs import Unread
from olbench.structs import Node, read_plain, read_struct, text


def protocols() -> list[Protocol]:
    return REGISTRY.listed()


def get_protocol(id: str) -> Protocol:
    """Return a protocol with an empty experiment: it can run trials, and has the default quantities."""
    REGISTRY.load()
    if id not in REGISTRY:
        known = [each.id for each in protocols()]
        raise UserError(f"unknown protocol {show_name(id)}{suggest(id, known)}; there are {', '.join(known)}")
    return REGISTRY[id]


def make_protocol(experiment: Experiment) -> Protocol:
    """Return the protocol of an experiment, with the quantities that it asks for."""
    usual = get_protocol(experiment.protocol)
    kind = type(usual.experiment)
    if not isinstance(experiment, kind):
        experiment = read_plain(kind, experiment.plain(), "config")
    return type(usual)(experiment)


def cells_of(experiment: Experiment, sources: Sequence[Source]) -> list[Cell]:
    return list(make_protocol(experiment).cells(sources))


def read_experiment(node: Node, name: str) -> Experiment:
    """Read what `plain` wrote, without looking up data or loading plugins: both may be gone."""
    given = node.mapping(name).get("protocol")
    id = "online" if given is None else text(given, "protocol")
    REGISTRY.load()
    return read_struct(type(REGISTRY[id].experiment) if id in REGISTRY else Unread, node, name)
