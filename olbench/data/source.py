"""The data sets of a config: whether they are downloaded, and one shared copy of each while it is needed.

One may travel to another machine, which keeps it in its cache under its fingerprint.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import vstack

from olbench.data import cache as disk
from olbench.data.catalog import catalog
from olbench.data.dataset import Dataset, assemble, fingerprint
from olbench.data.fetch import fetch, fetch_command, is_present, local_files
from olbench.data.load import load_spec
from olbench.data.scale import describe_scaling
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError
from olbench.learners.examples import Groups, Ints, as_labels

LABELS_AT_ONCE = 1 << 20
#: With more features, a full covariance takes too long.
MOST_FULL = 500


def choose_covariance(features: int) -> str:
    return "full" if features <= MOST_FULL else "diag"


class Source:
    def __init__(self, spec: DatasetSpec, data: Dataset, can_reload: bool = True):
        self.spec, self.can_reload = spec, can_reload
        self.name = spec.name if spec.path else data.name
        self.fingerprint = data.fingerprint
        self.n, self.d = (int(size) for size in data.X.shape)
        #: The number of classes if every label is one; 0 for the labels -1 and +1.
        self.classes = int(np.max(data.y)) + 1 if spec.labels == "all" and self.n else 0
        labels = {number: label for label, number in data.about.classes}
        self.class_names = tuple(labels[k] for k in range(self.classes) if k in labels)
        entry = None if spec.path else catalog().get(spec.name)
        self.drifts = entry.drifts if entry else ()
        self.test_from = data.test_from
        reading = spec.reading
        self.prepared = list(data.about.steps)
        if reading.is_fitted_per_trial:  # trials scale the features themselves
            self.prepared += describe_scaling(reading.scale, reading.bias, reading.fitted)
        self.bytes, self.memory_bytes = _measure(data)
        #: The memory that an open source takes: norms, offsets of the rows, and arrays that are not mapped.
        self.held_bytes = self.memory_bytes + 16 * self.n
        if not self.n:
            raise UserError(f"{self.name}: there are no rows in it")
        # Cached examples are memory maps, which take no memory until their first use.
        self._data: Dataset | None = data
        #: Further plain values that trials need; on a cluster, they travel with each trial.
        self.facts: Mapping[str, Any] = {}
        self._open: Dataset | None = None
        self._lock = Lock()

    def open(self) -> Dataset:
        with self._lock:
            if self._open is None:
                data = self._read()
                opened = self._select(data, data.X, data.y)
                _ = opened.examples.norms  # computed here, before threads share it
                self._open = opened
            return self._open

    @cached_property
    def majority(self) -> int:
        """The number of rows with the most frequent label; labels are read piece by piece."""
        labels, counts = self._read().y, Counter[float]()
        for begin in range(0, self.n, LABELS_AT_ONCE):
            values, numbers = np.unique(labels[begin : begin + LABELS_AT_ONCE], return_counts=True)
            counts.update(dict(zip(values.tolist(), numbers.tolist(), strict=True)))
        return max(counts.values())

    def count_labels(self, groups: Groups, pieces: Iterable[slice | Ints]) -> Ints:
        """Return how many of some rows each group has of each label, in the order of the labels."""
        labels, classes = self._read().y, self.classes or 2
        shape = int(groups.max()) + 1, classes
        counts = np.zeros(math.prod(shape), np.int64)
        for rows in pieces:
            own = np.asarray(labels[rows])
            columns = own.astype(np.int64) if self.classes else own > 0
            counts += np.bincount(groups[rows].astype(np.int64) * classes + columns, minlength=counts.size)
        return counts.reshape(shape)

    @property
    def arrivals(self) -> Ints | None:
        """For each row, the first row that is predicted with its label known; None if unknown."""
        arrivals: Ints | None = self._read().arrivals
        return arrivals

    def close(self) -> None:
        with self._lock:
            self._open = None
            self._data = None if self.can_reload else self._data

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def take(self, places: Sequence[slice]) -> Dataset:
        data = self._read()
        parts = [data.X[place] for place in places]
        X = np.concatenate(parts) if data.storage == "dense" else vstack(parts, format="csr")
        chosen = self._select(data, X, np.concatenate([data.y[place] for place in places]))
        return replace(chosen, arrivals=None)

    def _select(self, data: Dataset, X: Any, y: Any) -> Dataset:
        labels = np.ascontiguousarray(y, dtype=np.float64) if self.classes else as_labels(y, X.shape[0])
        return replace(data, X=X, y=labels)

    def _read(self) -> Dataset:
        if self._data is None:
            data = load_spec(self.spec)
            if data.fingerprint != self.fingerprint:
                raise UserError(f"{self.name} has changed since the run began; run it again")
            self._data = data
        return self._data

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {self.n:,} × {self.d:,})"


def _measure(data: Dataset) -> tuple[int, int]:
    arrays = [np.asanyarray(array) for array in data.arrays.values()]
    in_memory = [array for array in arrays if not disk.is_mapped(array)]
    return sum(int(array.nbytes) for array in arrays), sum(int(array.nbytes) for array in in_memory)


def find_source(spec: DatasetSpec) -> Source:
    """Return the source of a spec: the same object at every call of a process, until its file changes."""
    stamp: tuple[int, ...] = ()
    with suppress(OSError):  # loading reports it
        state = Path(spec.path).stat()
        stamp = (state.st_ino, state.st_mtime_ns, state.st_size)
    return _find_source(spec, stamp if spec.path else ())


@cache
def _find_source(spec: DatasetSpec, stamp: tuple[int, ...]) -> Source:
    return Source(spec, load_spec(spec))


def find_sources(
    specs: Sequence[DatasetSpec], skip_missing: bool, say: Callable[[str], None] = lambda text: None
) -> tuple[list[Source], list[str]]:
    absent = [spec for spec in specs if not spec.path and not is_present(spec.name)]
    names = list(dict.fromkeys(spec.name for spec in absent))
    if absent and (not skip_missing or len(absent) == len(specs)):
        verb = "are" if len(names) > 1 else "is"
        raise UserError(
            f"{', '.join(names)} {verb} not downloaded; run `{fetch_command(names)}`"
            + ("" if skip_missing else ", or go on without with --skip-missing")
        )
    sources, present = [], [spec for spec in specs if spec not in absent]
    for number, spec in enumerate(present, start=1):
        place = f", {number} of {len(present)}" if len(present) > 1 else ""
        say(f"loading {spec.name}{place}")
        sources.append(find_source(spec))
    return sources, names


def find_named(specs: Sequence[DatasetSpec], name: str) -> Source:
    for spec in specs:
        if name == spec.name or name.startswith(f"{spec.name}["):
            source = find_source(spec)
            if source.name == name:
                return source
    raise UserError(f"the config of the last run no longer has a data set '{name}'")


class OtherDataError(UserError):
    """The examples do not have the fingerprint that was asked for."""


def pack(source: Source) -> Dataset:
    data = source.open()
    parts = replace(data, X=data.examples.matrix()).arrays
    arrays = {name: np.asarray(part) for name, part in parts.items()}
    X, y, arrivals = assemble(arrays, source.d), arrays["y"], arrays.get("arrivals")
    return Dataset("", X, y, source.fingerprint, source.test_from, arrivals=arrivals)


def receive(wanted: str, parcel: Dataset) -> Dataset:
    received = fingerprint(parcel.X, parcel.y, parcel.arrivals)
    if received != wanted:
        raise OtherDataError(f"the data was sent with the fingerprint {wanted} and arrived with {received}")
    return disk.keep(f"parcel-{wanted}", parcel)


def find_received(name: str, wanted: str) -> Dataset | None:
    kept = disk.load(f"parcel-{wanted}", name)
    return kept if kept is not None and kept.fingerprint == wanted else None


def find_data(spec: DatasetSpec, name: str, wanted: str) -> Dataset | None:
    """Load data from the cache, the mirror or its path, never from upstream; refuse other content."""
    kept = find_received(name, wanted)
    if kept is not None:
        return kept
    data = _load_near(spec)
    if data is not None and data.fingerprint != wanted:
        raise OtherDataError(
            f"{spec.path or spec.name} has the fingerprint {data.fingerprint} there and {wanted} here"
        )
    return None if data is None else replace(data, name=name)


def _load_near(spec: DatasetSpec) -> Dataset | None:
    if spec.path:
        return load_spec(spec) if Path(spec.path).is_file() else None
    if spec.name not in catalog():
        return None
    entry = catalog()[spec.name]
    if local_files(entry) is None:
        try:
            fetch(replace(entry, upstream=()))
        except UserError:
            return None
    return load_spec(spec)
