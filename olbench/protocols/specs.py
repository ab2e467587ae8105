"""An experiment as frozen dataclasses: the content of a config.

The annotations say what the keys of a config and of run.json may hold, and what the schema tells editors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.spec import DatasetSpec
from olbench.structs import Flat, choice, from_struct, read_plain

#: The keys of a config that decide which trials there are, but not what comes out of any of them: an entry of
#: `algorithms` has its own covariance.
SELECTING = ("algorithms", "plugins", "covariance")
TIES = ("last", "first", "middle")


@dataclass(frozen=True)
class Tuning:
    search: Annotated[str, "how parameters are searched"] = "none"
    ties: Annotated[
        str, choice(*TIES), "which of several best candidates is taken, in the order of the grid"
    ] = "last"
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """An experiment. `settings` holds the keys that its protocol adds, each with a value."""

    datasets: Annotated[tuple[DatasetSpec, ...], "names of the catalogue or files, relative to the config"]
    algorithms: Annotated[
        tuple[AlgorithmSpec, ...], "ids, or ids with settings; or all, for those that the protocol can run"
    ]
    protocol: Annotated[str, "what a trial does and measures"] = "online"
    paper: Annotated[str, "a paper's id, or the path of its file"] = ""
    seed: Annotated[int, "decides all random orders and splits, which all algorithms share"] = 0
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)
    covariance: Annotated[
        str, choice("full", "diag"), "the covariance of second-order algorithms that do not set their own"
    ] = "full"
    tuning: Tuning = Tuning()
    plugins: Annotated[
        tuple[str, ...], "Python files with algorithms or protocols, relative to the config"
    ] = ()

    def with_settings(self, **settings: Any) -> "Config":
        return replace(self, settings={**self.settings, **settings})

    plain = from_struct

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "Config":
        """Read the values that `plain` wrote. Nothing is looked up: data and plugins may be gone."""
        return read_plain(cls, content, "config")
