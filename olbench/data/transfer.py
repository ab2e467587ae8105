"""Data sets that travel to another machine, which keeps them in its cache under their fingerprint."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from olbench.data import cache
from olbench.data.catalog import catalog
from olbench.data.dataset import Dataset, assemble, fingerprint
from olbench.data.fetch import fetch, local_files, mirror_place
from olbench.data.load import load_spec
from olbench.data.source import Source
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError


class OtherDataError(UserError):
    """Examples that are not those with the fingerprint that was asked for."""


def pack(source: Source) -> Dataset:
    data = source.open()
    parts = replace(data, X=data.examples.matrix()).arrays
    arrays = {name: np.asarray(part) for name, part in parts.items()}
    X, y, arrivals = assemble(arrays, source.d), arrays["y"], arrays.get("arrivals")
    return Dataset("", X, y, source.fingerprint, source.test_from, arrivals=arrivals)


def receive(wanted: str, parcel: Dataset) -> Dataset:
    received = fingerprint(parcel.X, parcel.y, parcel.arrivals)
    if received != wanted:
        raise OtherDataError(
            f"the data arrived with the fingerprint {received}, and it was sent with {wanted}"
        )
    return cache.keep(f"parcel-{wanted}", parcel)


def find_received(name: str, wanted: str) -> Dataset | None:
    kept = cache.load(f"parcel-{wanted}", name)
    return kept if kept is not None and kept.fingerprint == wanted else None


def find_data(spec: DatasetSpec, name: str, wanted: str) -> Dataset | None:
    """From the cache, the mirror or a path, never from upstream; other content under the name is refused."""
    kept = find_received(name, wanted)
    if kept is not None:
        return kept
    data = _load(spec)
    if data is not None and data.fingerprint != wanted:
        raise OtherDataError(
            f"{spec.path or spec.name} has the fingerprint {data.fingerprint} there and {wanted} here"
        )
    return None if data is None else replace(data, name=name)


def _load(spec: DatasetSpec) -> Dataset | None:
    if spec.path:
        if not Path(spec.path).is_file():
            return None
    elif spec.name not in catalog() or not _is_near(spec.name):
        return None
    return load_spec(spec)


def _is_near(name: str) -> bool:
    entry = catalog()[name]
    if local_files(entry) is not None:
        return True
    if not isinstance(mirror_place(), str):
        return False
    try:
        fetch(replace(entry, upstream=()))
    except UserError:
        return False
    return True
