"""The file of a bundle: a ZIP archive of a run's folder with a manifest, unpacked into the cache.

Anyone may have made it, so it is checked as a whole before it is used, and its code runs only if trusted.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import time
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from olbench.errors import UserError, shorten, show_name
from olbench.files import cache_folder, is_special, write_whole
from olbench.records import FORMAT

SUFFIX = ".olb"
MANIFEST = "manifest.json"
MEMBERS = re.compile(
    r"manifest\.json|run\.json|config\.yaml|data\.json|paper\.yaml|arrays\.bin"
    r"|trials\.json\.xz|plugins/[0-9]{1,3}/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.py|rules/[0-9]{1,3}\.yaml"
)
PLUGINS, PAPER = "plugins/", "paper.yaml"
BINARY = ("arrays.bin", "trials.json.xz")
#: With other methods, a member may unpack to any size before zipfile can stop it.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MOST_MEMBERS = 1000
#: All members together, and how much larger than the bundle they may be, with some allowance for short texts.
MOST_BYTES, MOST_RATIO, ALLOWANCE = 2_000_000_000, 200, 1 << 20
#: An unpacked bundle that was not opened for this long is removed from the cache.
KEPT_SECONDS = 30 * 24 * 3600
EPOCH, MODE = (1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644
_trusted: set[Path] = set()


def is_bundle(folder: Path) -> bool:
    """Return whether a folder was unpacked from a bundle."""
    return (folder / MANIFEST).is_file()


def trust(folder: Path) -> None:
    _trusted.add(folder.resolve())


def is_trusted(folder: Path) -> bool:
    return folder.resolve() in _trusted


def write(target: Path, members: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
    """The same members always give the same bytes."""
    if is_special(target):
        raise UserError(f"{target} is not a file; a bundle is one")
    if len(members) >= MOST_MEMBERS or sum(map(len, members.values())) > MOST_BYTES:
        raise UserError(
            f"the run is too large for a bundle, which can have {MOST_BYTES / 1e9:g} GB in {MOST_MEMBERS:,} "
            "files; bundle parts of it"
        )
    ordered = {name: members[name] for name in sorted(members)}
    files = {name: _describe(content) for name, content in ordered.items()}
    manifest = json.dumps({"format": FORMAT, **about, "files": files}, indent=1) + "\n"
    with write_whole(target) as draft, zipfile.ZipFile(draft, "w") as archive:
        # The manifest comes first: `head` shows what the file is.
        for name, content in {MANIFEST: manifest.encode(), **ordered}.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system, entry.external_attr = 3, MODE << 16
            entry.compress_type = zipfile.ZIP_STORED if name in BINARY else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def _describe(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def open_bundle(path: Path) -> Path:
    """Return a folder of the cache that has the members and the name of a bundle."""
    bundles = cache_folder().resolve() / "bundles"
    try:
        with open(path, "rb") as file:
            folder = bundles / hashlib.file_digest(file, "sha256").hexdigest()[:16] / path.stem
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(suffix=".part", dir=folder.parent) as draft:
                _unpack(path, Path(draft) / path.stem)
                with suppress(FileExistsError):  # another process was faster
                    os.rename(Path(draft) / path.stem, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError):
        raise UserError(f"{path} is damaged, or not a bundle; get the file again") from None
    except OSError as error:
        raise UserError(f"cannot unpack {path} into the cache: {error.strerror or error}") from None
    with suppress(OSError):  # the cache may be read-only
        os.utime(folder.parent)
        for other in bundles.iterdir():
            if other.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(other)
    return folder


def _unpack(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if len(entries) > MOST_MEMBERS or total > min(
            MOST_BYTES, ALLOWANCE + MOST_RATIO * path.stat().st_size
        ):
            raise UserError(f"{path} would unpack to {len(entries):,} files of {total:,} bytes; get another")
        names: set[str] = set()
        for entry in entries:
            name, is_known = entry.orig_filename, MEMBERS.fullmatch(entry.orig_filename)
            if not is_known or name in names or entry.compress_type not in METHODS:
                raise UserError(f"{path} is not a bundle: unexpected member {show_name(name)}")
            names.add(name)
        if MANIFEST not in names:
            raise UserError(f"{path} is not a bundle: it has no {MANIFEST}")
        files = _read_manifest(path, archive.read(MANIFEST))
        for name in sorted({MANIFEST, *files} ^ names):
            raise UserError(f"{path} is damaged: its manifest and its members differ in {show_name(name)}")
        for name in names:
            content, place = archive.read(name), folder / name
            if name != MANIFEST and _describe(content) != files[name]:
                raise UserError(f"{path}: {name} does not match its checksum; get the file again")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def _read_manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
        found, files = content["format"], dict(content["files"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{path} is not a bundle: its {MANIFEST} cannot be read") from None
    if found != FORMAT:
        raise UserError(f"{path} has format {shorten(repr(found))}, and this olbench reads format {FORMAT}")
    return files
