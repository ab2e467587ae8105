"""Loading a data set: by name, by path, from a frame, or from an entry of `datasets` in a config."""

import hashlib
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data import cache
from olbench.data.catalog import CatalogEntry, catalog, find, resolve
from olbench.data.compressed import (
    LONGEST_LINE,
    STDIN,
    base_name,
    is_pipe,
    piped_folder,
    read_pieces,
    show_path,
)
from olbench.data.dataset import Dataset
from olbench.data.entries import load_entry, read_examples
from olbench.data.fetch import fetch, fetch_command, local_files
from olbench.data.formats import find_format, find_suffixes
from olbench.data.labels import Labels, label_text, read_label
from olbench.data.spec import (
    CATEGORICAL,
    DEFAULT,
    MISSING,
    SCALES,
    DatasetSpec,
    Reading,
    is_table_line,
    read_columns,
    read_delimiter,
)
from olbench.errors import UserError, expand_home, is_file
from olbench.structs import Node, from_plain, keys_of, place_errors, read_keys, select, text

TABLE_KEYS = ("label", "time", "arrival", "columns", "delimiter", "missing", "categorical")
#: The endings of files of other tools.
FOREIGN = (
    ".xlsx .xls .xlsm .ods .npy .npz .mat .arff .feather .arrow .json .jsonl .ndjson .h5 .hdf5 .pkl .pickle "
    ".joblib"
)
READING_KEYS = keys_of(Reading, "fitted")


def load_dataset(
    data: Any,
    positive: Labels = None,
    negative: Labels = None,
    *,
    labels: str = "two",
    label: str | int = "",
    time: str | int = "",
    arrival: str | int = "",
    delimiter: str = "",
    missing: str = "",
    categorical: str = "",
    scale: str = "",
    bias: bool = False,
    columns: Any = (),
    name: str = "",
    download: bool = True,
    mirror: str | None = None,
) -> Dataset:
    """Return a data set of the catalogue by its name, your own file by its path, or a frame.

    Files are LIBSVM text or tables: .csv, .tsv and .parquet. A pipe, or "-" for standard input, may have
    LIBSVM text of any size or a table of separated values. A frame is a pandas frame with a label column, a
    pair (X, y), or what scikit-learn's load_* and fetch_* functions return.

    With two labels, the smaller number or the first text in alphabetical order becomes -1 and the other +1.
    Otherwise `positive` lists the labels that become +1 and `negative` the labels that become -1 (default:
    all others); rows with any other label are dropped. With labels="all", every label is a class, and y
    holds the class numbers from 0, in the order of their labels. Missing catalogue files are fetched, unless
    `download` is False.

    For your own tables: `label` is the heading or the number (from 1) of the label column, by default the
    one called label, class, target or similar, else the last. `time` and `arrival` are the columns with the
    time of each row and the time when its label becomes known; they are not features. `delimiter` separates
    the columns of a text file. `missing` handles missing values (drop, zero, mean), `categorical` columns of
    text (onehot, drop). `columns` lists the only columns to use, or maps columns to number, onehot, ordinal,
    date or drop, as in a config. For all of your own data, `scale` scales every row (unit) or every feature
    (minmax, standard, by all rows), and `bias` adds a feature that is always 1.

    >>> data = load_dataset("breast-cancer")
    >>> data.X.shape, data.fingerprint[:8]
    ((569, 30), '09b79ee7')
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [3, None], "colour": ["red", "blue"], "sold": ["no", "yes"]})
    >>> data = load_dataset(frame, label="sold", missing="mean", categorical="onehot")
    >>> data.about.features, data.X[1].tolist(), data.y.tolist()
    (('size', 'colour=blue', 'colour=red'), [3.0, 1.0, 0.0], [-1.0, 1.0])
    """
    chosen = read_columns(from_plain(columns, "columns"), "columns") if columns else ()
    reading = Reading(label, time, arrival, delimiter, missing, categorical, scale, bias, chosen)
    for key, words in (("missing", MISSING), ("categorical", CATEGORICAL), ("scale", SCALES)):
        value = getattr(reading, key)
        if value and value not in words:
            raise UserError(f"{key} must be one of {', '.join(words)}, not {value!r}")
    if labels not in ("two", "all"):
        raise UserError(f"labels must be 'two' or 'all', not {labels!r}")
    if labels == "all" and (positive is not None or negative is not None):
        raise UserError("positive and negative cannot be combined with labels='all'")
    spec = DatasetSpec(
        name,
        positive=_as_tuple(positive),
        negative=_as_tuple(negative),
        labels="all" if labels == "all" else "",
        reading=reading,
    )
    if not isinstance(data, str | Path):
        from olbench.data.prepare import read_frame

        return read_frame(data, spec)
    found = _load(data, spec, download, mirror)
    return replace(found, name=name) if name else found


def load_spec(spec: DatasetSpec) -> Dataset:
    return _load(spec.path or spec.name, replace(spec, reading=spec.reading.before_trials()), download=False)


def _load(name_or_path: str | Path, spec: DatasetSpec, download: bool, mirror: str | None = None) -> Dataset:
    place = Path(name_or_path) if is_pipe(name_or_path) else resolve(name_or_path)
    if isinstance(place, CatalogEntry):
        return _load_listed(place, spec, download, mirror)
    if is_pipe(place):
        place = keep_pipe(place, spec.reading)
    own = describe_file(place, spec)
    refuse_reading(spec.reading, own.format, str(place))
    _refuse_labels(spec, own)
    return load_entry(own, [place], where=str(place))


def _load_listed(entry: CatalogEntry, spec: DatasetSpec, download: bool, mirror: str | None) -> Dataset:
    if spec.reading != DEFAULT:
        key = next(iter(spec.reading.plain()))
        raise UserError(f"'{key}' is only allowed for your own files; the catalogue defines {entry.name}")
    chooses_labels = _refuse_labels(spec, entry)
    paths = local_files(entry, mirror)
    if paths is None and not download:
        raise UserError(f"{entry.name} is not downloaded; get it with `{fetch_command([entry.name])}`")
    if paths is None:
        paths = fetch(entry, mirror)
    if chooses_labels:
        entry = _replace_labels(entry, spec)
    return load_entry(entry, paths)


def _refuse_labels(spec: DatasetSpec, entry: CatalogEntry) -> bool:
    """Return whether labels are chosen; blocks of rows have none to choose from."""
    has_labels = spec.positive is not None or spec.negative is not None
    if (has_labels or spec.labels == "all") and find_format(entry.format).comes_in_blocks:
        given = "positive and negative" if has_labels else "labels='all'"
        raise UserError(f"{entry.name} has two classes by construction; leave out {given}")
    return has_labels or spec.labels == "all"


def _replace_labels(entry: CatalogEntry, spec: DatasetSpec) -> CatalogEntry:
    plus, minus, multiclass = spec.positive, spec.negative, spec.labels == "all"
    label = "+".join(map(label_text, plus or ())) + "".join(f"-vs-{label_text(k)}" for k in minus or ())
    return replace(
        entry,
        name=f"{entry.name}[{'all' if multiclass else label}]",
        positive=plus,
        negative=minus,
        multiclass=multiclass,
        labels={},
        fingerprint="",
    )


def describe_file(path: Path, spec: DatasetSpec) -> CatalogEntry:
    """Return an entry for a user's file, without facts to check."""
    name = base_name(path.name)
    return CatalogEntry(
        name=plain_name(name),
        title=name,
        format=format_of(name),
        rows=0,
        features=0,
        labels={},
        source=str(path),
        positive=spec.positive,
        negative=spec.negative,
        multiclass=spec.labels == "all",
        is_own=not is_pipe(path),
        reading=spec.reading,
    )


def _as_tuple(labels: Labels) -> tuple[float | str, ...] | None:
    if labels is None:
        return None
    listed = [labels] if isinstance(labels, str) else np.atleast_1d(np.asarray(labels, dtype=object)).ravel()
    if any(isinstance(label, bool) or not isinstance(label, str | Real) for label in listed):
        raise UserError(f"positive and negative are labels or lists of labels, not {labels!r}")
    return tuple(map(read_label, listed))


def load_run(name: str, run: int) -> Dataset:
    """Return the sample of a run, for data sets that draw a new sample for every run.

    `load_dataset` returns the sample of run 0.

    >>> load_run("cw2008-synthetic", 1).X.shape
    (11000, 20)
    """
    entry = find(name)
    if entry.sample != "per-run":
        raise UserError(f"the data set {name} is the same in every run; load it with load_dataset")
    return read_examples(replace(entry, generator={**entry.generator, "run": run}), [])


def keep_pipe(path: str | Path, reading: Reading) -> Path:
    """Copy a pipe to the cache, piece by piece; the name of the copy depends on its content.

    It is a table if `reading` has keys of tables, or if its first line looks like one.
    """
    digest = hashlib.sha256()
    try:
        with cache.open_draft() as draft:
            copy = draft.folder / "copy"
            with open(copy, "w+b") as target:
                for piece in read_pieces(path):
                    digest.update(piece)
                    target.write(piece)
                target.seek(0)
                first = target.read(LONGEST_LINE).lstrip().partition(b"\n")[0]
            is_asked = any(getattr(reading, key) not in ("", ()) for key in TABLE_KEYS)
            name = Path(show_path(path)).name + (".csv" if is_asked or is_table_line(first) else "")
            file = piped_folder() / digest.hexdigest()[:16] / name
            file.parent.mkdir(parents=True, exist_ok=True)
            return copy.replace(file)
    except cache.UnwritableError as error:
        reason = f"{show_path(path)} must be copied to {piped_folder()}, which cannot be written ({error})"
        raise UserError(f"{reason}; set OLBENCH_CACHE to a writable folder with free space") from None


def format_of(name: str) -> str:
    """Return the format of a file by its name without the suffix of its compression."""
    suffix, known = Path(name).suffix.lower(), find_suffixes()
    if suffix in FOREIGN.split() and suffix not in known:
        remedy = "write a CSV file, or read it in Python and pass a frame or (X, y) to load_dataset"
        raise UserError(f"{name}: olbench does not read {suffix} files; {remedy}")
    return known.get(suffix, "libsvm")


def plain_name(name: str) -> str:
    return Path(name).stem if Path(name).suffix.lower() in find_suffixes() else name


def refuse_reading(reading: Reading, format: str, where: str) -> None:
    columns = ("time", "arrival", "columns")
    given = [key for key in TABLE_KEYS if getattr(reading, key) not in ("", ())]
    if given and format == "libsvm":
        key = given[0] if given[0] in columns else f"--{given[0]}"
        suffixes = ", ".join(find_suffixes())
        raise UserError(
            f"{where} is read as a LIBSVM file, and {key} applies only to tables; a table needs a name that "
            f"ends in {suffixes}"
        )
    if format != "csv" and reading.delimiter:
        raise UserError(f"{where} does not have separated values; leave out --delimiter")


def read_dataset(node: Node, folder: Path) -> DatasetSpec:
    if not isinstance(node.value, dict):
        return find_dataset(text(node, "a data set"), node, folder)
    keys = [replace(key, default="") for key in (*keys_of(DatasetSpec), *READING_KEYS)]
    given, places = read_keys(keys, node, "a data set"), node.value
    if "path" in given:
        spec = _find_file(given["path"], places["path"], folder)
        name = given.get("name", spec.name)
    elif "name" in given:
        spec = find_dataset(given["name"], places["name"], folder)
        name = spec.name
    else:
        raise node.fail("a data set needs the key 'name' or 'path'")
    if "labels" in given and given.keys() & {"positive", "negative"}:
        raise places["labels"].fail("positive and negative cannot be combined with labels: all")
    for key in ("positive", "negative"):
        if not spec.path and any(isinstance(label, str) for label in given.get(key, ())):
            raise places[key].fail(f"{key} must be a label or a list of labels, not {places[key].shown()}")
        if key in given:
            with place_errors(places[key]):
                given[key] = tuple(map(read_label, given[key]))
    if "delimiter" in given:
        with place_errors(places["delimiter"]):
            given["delimiter"] = read_delimiter(given["delimiter"])
    reading = select(READING_KEYS, given)
    if reading and not spec.path:
        key = next(iter(reading))
        raise places[key].fail(f"'{key}' is only allowed for data sets with 'path'")
    labels = select(keys_of(DatasetSpec, "name", "path"), given)
    return _with_usual_labels(DatasetSpec(name, spec.path, **labels, reading=Reading(**reading)))


def find_dataset(name: str, node: Node, folder: Path) -> DatasetSpec:
    if name in catalog():
        return DatasetSpec(name)
    if name == STDIN:
        raise node.fail("a config cannot read standard input; name a file, or use `olbench run -`")
    with place_errors(node):
        if not is_file(folder / expand_home(name)):
            find(name)  # refuses every unknown name
    return _find_file(name, node, folder)


def _find_file(name: str, node: Node, folder: Path) -> DatasetSpec:
    with place_errors(node):
        path = folder / expand_home(name)
    if not is_file(path):
        raise node.fail(f"there is no file {path}")
    return DatasetSpec(plain_name(base_name(path.name)), str(path.resolve()))


def _with_usual_labels(spec: DatasetSpec) -> DatasetSpec:
    """Leave out labels that are the catalogue's: the data set then keeps its name and its orders."""
    if spec.path or spec.labels:
        return spec
    entry = catalog()[spec.name]
    usual = (entry.positive, entry.negative) == (spec.positive, spec.negative)
    return DatasetSpec(spec.name) if usual else spec
