"""A data set of the catalogue in Croissant 1.1, the JSON-LD description that data platforms exchange."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from olbench.data.cache import content_hash
from olbench.data.catalog import CatalogEntry
from olbench.data.readers.compressed import SUFFIXES, open_content

VERSION = "http://mlcommons.org/croissant/1.1"
#: Terms that Croissant defines, and those that it takes from others.
_TERMS = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject",
    "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
    "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in _TERMS},
}
#: The format of a file by the end of its name; without one of these it is text.
_ENCODINGS = {
    ".tar.gz": "application/x-tar", ".tar.xz": "application/x-tar", ".gz": "application/gzip",
    ".bz2": "application/x-bzip2", ".xz": "application/x-xz", ".csv": "text/csv",
}  # fmt: skip
#: The label in a line of a text file.
_FIRST_WORD, _LAST_CELL = r"^\s*(\S+)", r"([^,]*)$"


def describe_croissant(entry: CatalogEntry, copies: Sequence[Path] | None) -> dict[str, Any]:
    """Return the description of a data set. `copies` are its files on this machine, whose hashes it has."""
    origin = entry.origin
    files = [_file(entry, place, copies) for place in range(len(entry.files))]
    sets = [_file_set(entry, pattern) for pattern in entry.members]
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": entry.name,
        "description": _describe(entry),
        "license": origin["licence"],
        **({"url": entry.page} if entry.page else {}),
        "citeAs": origin["citation"],
        "version": origin["version"],
        **({"distribution": [*files, *sets]} if files else {}),
        "recordSet": [*_examples(entry), _classes(entry)],
    }


def unhashed(description: Mapping[str, Any]) -> list[str]:
    """Return the files of a description whose SHA-256 is not known."""
    files = description.get("distribution", ())
    return [each["name"] for each in files if "containedIn" not in each and "sha256" not in each]


def _describe(entry: CatalogEntry) -> str:
    """Return what the data set is, and how olbench makes examples of it."""
    parts = [
        entry.title,
        f"{entry.rows:,} examples with {entry.features:,} features",
        f"From: {entry.source}",
    ]
    if entry.generator:
        parts.append(f"Drawn by the generator '{entry.format}' of olbench with {json.dumps(entry.generator)}")
    parts += [f"Comes with scikit-learn as {entry.bundled}"] if entry.bundled else []
    parts += [f"Preprocessing: {', then '.join(entry.preprocess)}"] if entry.preprocess else []
    parts += [f"The files are made by hand: {entry.by_hand}"] if entry.by_hand else []
    parts.append(f"Fingerprint of the examples in olbench: {entry.fingerprint}")
    note = f" {entry.note.strip()}" if entry.note else ""
    return ". ".join(parts) + f".{note}"


def _file(entry: CatalogEntry, place: int, copies: Sequence[Path] | None) -> dict[str, Any]:
    name = entry.files[place]
    base = PurePosixPath(name).name
    address = f"{entry.upstream[0].rstrip('/')}/{base}" if entry.upstream else entry.page or base
    digest = _hash(entry, name, copies[place] if copies else None)
    kind = next((kind for end, kind in _ENCODINGS.items() if base.endswith(end)), "text/plain")
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": base,
        "contentUrl": address,
        "encodingFormat": kind,
        **({"sha256": digest} if digest else {}),
    }


def _hash(entry: CatalogEntry, name: str, copy: Path | None) -> str:
    """Return the SHA-256 of a file as its publisher has it; empty if this machine cannot tell."""
    if copy is not None and copy.name == PurePosixPath(name).name:
        return content_hash(copy)
    if name.endswith(SUFFIXES[1:]):
        return ""  # the copy, or the hash in the catalogue, is of other bytes than the compressed file
    if copy is None:
        return entry.sha256.get(name, "")
    digest = hashlib.sha256()
    with open_content(copy) as content:
        while part := content.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _file_set(entry: CatalogEntry, pattern: str) -> dict[str, Any]:
    archive = {"@id": entry.files[0]}
    name = _identify(pattern)
    return {
        "@type": "cr:FileSet", "@id": name, "name": name, "containedIn": archive,
        "encodingFormat": "text/plain", "includes": pattern,
    }  # fmt: skip


def _identify(pattern: str) -> str:
    return pattern.strip("*/").replace("/", "-")


def _examples(entry: CatalogEntry) -> list[dict[str, Any]]:
    """Return one set of records per file or pattern, with what holds the features and the label."""
    if entry.members:
        return [_documents(entry, pattern, label) for pattern, label in entry.members.items()]
    if entry.format == "idx":
        # Fields of one set of records would need a key to be joined by; in IDX it is their order.
        kinds = ("features", "label")
        return [_records(name, {kinds[place % 2]: _content(name)}) for place, name in enumerate(entry.files)]
    sources = {}
    for name in entry.files:
        line = {"fileObject": {"@id": name}, "extract": {"fileProperty": "lines"}}
        sources[name] = {"features": line, "label": _label_of_line(entry, name, line)}
    return [_records(name, fields) for name, fields in sources.items()]


def _label_of_line(entry: CatalogEntry, name: str, line: dict[str, Any]) -> dict[str, Any]:
    if entry.format == "csv" and entry.label_column != "last":
        return {"fileObject": {"@id": name}, "extract": {"column": entry.label_column}}
    regex = _FIRST_WORD if entry.format == "libsvm" else _LAST_CELL
    return {**line, "transform": {"regex": regex}}


def _documents(entry: CatalogEntry, pattern: str, label: int | None) -> dict[str, Any]:
    """Return documents: one per file with the label of its folder, or one per line with its own."""
    files = {"fileSet": {"@id": _identify(pattern)}}
    if entry.format == "posts":
        return _records(
            _identify(pattern), {"features": {**files, "extract": {"fileProperty": "content"}}}, label
        )
    line = {**files, "extract": {"fileProperty": "lines"}}
    regex = _FIRST_WORD if entry.format == "reviews" else r"#label#:(\w+)"
    return _records(_identify(pattern), {"features": line, "label": {**line, "transform": {"regex": regex}}})


def _content(name: str) -> dict[str, Any]:
    return {"fileObject": {"@id": name}, "extract": {"fileProperty": "content"}}


def _records(name: str, sources: Mapping[str, dict[str, Any]], label: int | None = None) -> dict[str, Any]:
    id = f"examples/{name}"
    meanings = {
        "features": "What olbench reads the features from.",
        "label": "The label as the publisher has it.",
    }
    fields = [_field(id, each, "sc:Text", meanings[each], source=source) for each, source in sources.items()]
    if label is not None:
        fields.append(_field(id, "label", "sc:Integer", "The number of the class.", value=label))
    return {"@type": "cr:RecordSet", "@id": id, "name": id, "field": fields}


def _classes(entry: CatalogEntry) -> dict[str, Any]:
    """Return the two classes that olbench makes of the labels, with their counts, as data."""
    id = "classes"
    fields = [
        _field(id, "label", "sc:Integer", "The label in olbench: -1 or +1."),
        _field(id, "name", "sc:Text", "What rules call the class, if it has a name."),
        _field(id, "rows", "sc:Integer", "How many examples have it."),
    ]
    data = [
        {"classes/label": sign, "classes/name": entry.class_names.get(sign, ""), "classes/rows": rows}
        for sign, rows in sorted(entry.labels.items())
    ]
    key = {"@id": "classes/label"}
    return {"@type": "cr:RecordSet", "@id": id, "name": id, "key": key, "field": fields, "data": data}


def _field(record_set: str, name: str, kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    id = f"{record_set}/{name}"
    return {
        "@type": "cr:Field", "@id": id, "name": name, "description": meaning, "dataType": kind, **more,
    }  # fmt: skip
