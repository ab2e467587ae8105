"""The data sets of a config: whether they are here, and one shared copy of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from olbench.config import DatasetSpec
from olbench.data.load import load_dataset
from olbench.errors import UserError
from olbench.examples import Examples, Floats, as_examples, as_labels


@dataclass(frozen=True)
class Source:
    """A loaded data set, checked once, that every trial on it shares."""

    spec: DatasetSpec
    name: str
    fingerprint: str
    examples: Examples
    labels: Floats

    @property
    def bytes(self) -> int:
        """The size of the examples in memory."""
        e = self.examples
        return sum(int(array.nbytes) for array in (e.dense, e.data, e.columns, e.indptr, self.labels))


@cache
def load(spec: DatasetSpec) -> Source:
    """Return the data set of a spec; the same object at every call of a process."""
    data = load_dataset(spec.path or spec.name, spec.positive, spec.negative, download=False)
    given = spec.name if spec.path else data.name
    examples = as_examples(data.X)
    if not examples.n:
        raise UserError(f"{given}: there are no rows in it")
    _ = examples.norms  # computed here, before threads share it
    return Source(spec, given, data.fingerprint, examples, as_labels(data.y, examples.n))


def missing(specs: Sequence[DatasetSpec]) -> list[DatasetSpec]:
    """Return the data sets that have to be fetched first."""
    from olbench.data.fetch import is_present

    return [spec for spec in specs if not spec.path and not is_present(spec.name)]


def load_present(specs: Sequence[DatasetSpec], skip_missing: bool) -> tuple[list[Source], list[str]]:
    """Return the data sets and the names of those left out; without leave to skip, refuse to start."""
    from olbench.data.fetch import fetch_command

    absent = missing(specs)
    names = list(dict.fromkeys(spec.name for spec in absent))
    if absent and (not skip_missing or len(absent) == len(specs)):
        reason = "are not here" if len(names) > 1 else "is not here"
        raise UserError(
            f"{', '.join(names)} {reason}; get what is missing with `{fetch_command(names)}`"
            + ("" if skip_missing else " or go on without it with --skip-missing")
        )
    return [load(spec) for spec in specs if spec not in absent], names


def load_named(specs: Sequence[DatasetSpec], name: str) -> Source:
    """Return the data set that the ledger knows by a name."""
    for spec in specs:
        if name == spec.name or name.startswith(f"{spec.name}["):
            source = load(spec)
            if source.name == name:
                return source
    raise UserError(f"the config of the last run has no data set '{name}' any more")
