"""The file of a bundle: a ZIP archive of a run's folder with a manifest, unpacked into the cache.

Anybody may have made it, so nothing in it is believed: it is checked as a whole before it is used. Its code
runs only if it is trusted.
"""

import hashlib
import io
import json
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

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
MOST_MEMBERS = 1000
#: All members together, and how much larger than the bundle they may be, with some room for short texts.
MOST_BYTES, MOST_RATIO, ROOM = 2_000_000_000, 200, 1 << 20
#: The last bytes of a ZIP archive, with the place for a second list of members that could be endless.
END_BYTES, END_MARK, LONG_MARK, LONG_BYTES = 22, b"PK\5\6", b"PK\6\7", 20
#: An entry of the list of members has 46 bytes and a name.
ENTRY_BYTES = 46 + 150
CHUNK = 1 << 20
EPOCH, MODE = (1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644
_trusted: set[Path] = set()


def is_bundle(folder: Path) -> bool:
    """Return whether a folder was unpacked from a bundle."""
    return (folder / MANIFEST).is_file()


def trust(folder: Path) -> None:
    _trusted.add(folder.resolve())


def is_trusted(folder: Path) -> bool:
    return folder.resolve() in _trusted


def write(target: Path, members: Mapping[str, bytes | Path], about: Mapping[str, Any]) -> None:
    """The same members, contents or files, always give the same bytes."""
    if is_special(target):
        raise UserError(f"{target} is not a file; a bundle is one")
    files = {name: _describe(members[name]) for name in sorted(members)}
    if len(files) >= MOST_MEMBERS or sum(each["bytes"] for each in files.values()) > MOST_BYTES:
        raise UserError(
            f"the run is too large for a bundle, which can have {MOST_BYTES / 1e9:g} GB in {MOST_MEMBERS:,} "
            "files; bundle parts of it"
        )
    manifest = json.dumps({"format": FORMAT, **about, "files": files}, indent=1) + "\n"
    with write_whole(target) as draft, zipfile.ZipFile(draft, "w") as archive:
        # The manifest comes first: `head` shows what the file is.
        for name in (MANIFEST, *files):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system, entry.external_attr = 3, MODE << 16
            entry.compress_type = zipfile.ZIP_STORED if name in BINARY else zipfile.ZIP_DEFLATED
            content = manifest.encode() if name == MANIFEST else members[name]
            with _open(content) as source, archive.open(entry, "w") as member:
                shutil.copyfileobj(source, member)


def _open(content: bytes | Path) -> IO[bytes]:
    return io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb")


def _describe(content: bytes | Path) -> dict[str, Any]:
    with _open(content) as file:
        digest = hashlib.sha256()
        size = 0
        while piece := file.read(CHUNK):
            digest.update(piece)
            size += len(piece)
    return {"bytes": size, "sha256": digest.hexdigest()}


def open_bundle(path: Path) -> Path:
    """Return a folder of the cache with the members of a bundle, which is named as the bundle is."""
    try:
        folder = cache_folder().resolve() / "bundles" / str(_describe(path)["sha256"])[:16] / path.stem
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(suffix=".part", dir=folder.parent) as draft:
                _unpack(path, Path(draft) / path.stem)
                with suppress(FileExistsError):  # another process was faster
                    os.rename(Path(draft) / path.stem, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise UserError(f"{path} is damaged, or not a bundle; get the file again") from None
    except OSError as error:
        raise UserError(f"cannot unpack {path} into the cache: {error.strerror or error}") from None
    return folder


def _unpack(path: Path, folder: Path) -> None:
    _check_end(path)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if total > min(MOST_BYTES, ROOM + MOST_RATIO * path.stat().st_size):
            raise UserError(f"{path} would unpack to {total:,} bytes, which is too many")
        for entry in entries:
            _check_entry(path, entry)
        names = {entry.orig_filename for entry in entries}
        if len(names) < len(entries):
            raise UserError(f"{path} has two members of one name, so it is not clear which one counts")
        if MANIFEST not in names:
            raise UserError(f"{path} is not a bundle: it has no {MANIFEST}")
        files = _read_manifest(path, archive.read(MANIFEST))
        for name in sorted({MANIFEST, *files} ^ names):
            raise UserError(
                f"{path}: its manifest and its members differ: {show_name(name)} is in one of them"
            )
        for name in names:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as member, open(place, "wb") as file:
                shutil.copyfileobj(member, file)
            if name != MANIFEST and _describe(place) != files[name]:
                raise UserError(f"{path}: {name} does not match its checksum; get the file again")


def _check_end(path: Path) -> None:
    """Refuse a list of millions of members by the last bytes of the archive, before it is read."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END_BYTES - LONG_BYTES))
        tail = file.read()
    end = tail[-END_BYTES:]
    if len(end) < END_BYTES or not end.startswith(END_MARK) or end[20:] != b"\0\0":
        raise UserError(f"{path} is cut off, or not a bundle; get the file again")
    length = int.from_bytes(end[12:16], "little")
    if length > MOST_MEMBERS * ENTRY_BYTES or tail[:-END_BYTES].startswith(LONG_MARK):
        raise UserError(f"{path} has more than {MOST_MEMBERS:,} members, which no bundle has")


def _check_entry(path: Path, entry: zipfile.ZipInfo) -> None:
    reason = ""
    if not MEMBERS.fullmatch(entry.orig_filename):
        reason = "is unexpected in a bundle"
    elif not stat.S_ISREG(entry.external_attr >> 16):
        reason = "is a link or a folder; a bundle has files only"
    elif entry.flag_bits or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        reason = "is encrypted, or compressed in a way that olbench does not write"
    if reason:
        raise UserError(f"{path}: its member {show_name(entry.orig_filename)} {reason}")


def _read_manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
        found, files = content["format"], dict(content["files"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{path} is not a bundle: its {MANIFEST} cannot be read") from None
    if found != FORMAT:
        raise UserError(f"{path} has format {shorten(repr(found))}, and this olbench reads format {FORMAT}")
    return files
