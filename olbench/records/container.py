"""The file of a bundle: a ZIP archive that anybody may have made, so nothing in it is believed.

It is checked as a whole before the first read, and nothing is extracted. Its code runs only if it is trusted.
"""

import errno
import hashlib
import io
import json
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from olbench.errors import UserError, count, show_name
from olbench.files import cache_folder, is_special, write_whole

SUFFIX = ".olb"
MANIFEST = "manifest.json"
LAYOUT = "olbench_bundle"
VERSION = 1
MEMBERS = re.compile(
    r"manifest\.json|run\.json|config\.yaml|data\.json|paper\.yaml|arrays\.bin"
    r"|trials\.columns\.xz|plugins/[0-9]{1,3}/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.py|rules/[0-9]{1,3}\.yaml"
)
PLUGINS, PAPER = "plugins/", "paper.yaml"
BINARY = ("arrays.bin", "trials.columns.xz")
MOST_MEMBERS = 1000
#: All members together; a text alone; and how much larger than in the bundle a text may become.
MOST_BYTES, MOST_TEXT, MOST_RATIO = 2_000_000_000, 32 << 20, 200
#: A short text may be as uniform as it likes.
SHORT = 1 << 20
#: The end of a ZIP archive: its mark, four numbers of disks and members, size and place of the list, comment.
END = struct.Struct("<4s4H2LH")
END_MARK, ZIP64_MARK, ZIP64_BYTES = b"PK\5\6", b"PK\6\7", 20
#: An entry of the list has 46 bytes and a name.
ENTRY_BYTES = 46 + 150
#: A member begins with a header of this size and a name; where the header has the lengths of what follows it.
LOCAL_BYTES, LOCAL_LENGTHS = 30, 26
EPOCH, MODE = (1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644
CHUNK = 1 << 20
_trusted: set[Path] = set()


def is_bundle(path: Path) -> bool:
    return path.suffix == SUFFIX and path.is_file()


def name_of(folder: Path) -> str:
    return folder.stem if is_bundle(folder) else folder.name


def trust(folder: Path) -> None:
    _trusted.add(folder.resolve())


def has_member(folder: Path, name: str) -> bool:
    return name in _members(folder) if is_bundle(folder) else (folder / name).exists()


def read_member(folder: Path, name: str) -> bytes:
    if not is_bundle(folder):
        return (folder / name).read_bytes()
    entry = _find(folder, name)
    with zipfile.ZipFile(folder) as archive:
        return archive.read(entry)


def read_piece(folder: Path, name: str, offset: int, size: int) -> bytes:
    if not is_bundle(folder):
        with open(folder / name, "rb") as file:
            file.seek(offset)
            return file.read(size)
    entry = _find(folder, name)
    with open(folder, "rb") as file:
        file.seek(entry.header_offset + LOCAL_LENGTHS)
        begin = entry.header_offset + LOCAL_BYTES + sum(struct.unpack("<2H", file.read(4)))
        file.seek(begin + offset)
        return file.read(max(0, min(size, entry.file_size - offset)))


def locate_plugin(folder: Path, name: str) -> str:
    """In the cache if it is trusted: no file can be opened or run at a path inside of a bundle."""
    if folder.resolve() not in _trusted:
        return str(folder / name)
    content = read_member(folder, name)
    return str(keep_plugin(name.rpartition("/")[2], hashlib.sha256(content).hexdigest(), content))


def keep_plugin(name: str, digest: str, content: bytes) -> Path:
    if hashlib.sha256(content).hexdigest() != digest:
        raise UserError(f"the plugin {name} did not arrive as it was sent")
    path = cache_folder().resolve() / "plugins" / digest[:16] / name
    with write_whole(path) as draft:
        draft.write_bytes(content)
    return path


def write(target: Path, members: Mapping[str, bytes | Path], about: Mapping[str, Any]) -> None:
    """The same members, contents or files, always give the same bytes."""
    if is_special(target):
        raise UserError(f"{target} is not a file; a bundle is one")
    sizes = {name: _size(content) for name, content in members.items()}
    for name, size in sizes.items():
        if name not in BINARY and size > MOST_TEXT:
            raise UserError(f"{name} has {size:,} bytes, and a bundle takes {MOST_TEXT:,}")
    if len(members) >= MOST_MEMBERS or sum(sizes.values()) > MOST_BYTES:
        raise UserError(
            f"the run is too large for a bundle, which can have {MOST_BYTES / 1e9:g} GB in {MOST_MEMBERS:,} "
            "files; bundle parts of it"
        )
    files = [
        {"path": name, "bytes": sizes[name], "sha256": _digest(_open(members[name]))}
        for name in sorted(members)
    ]
    manifest = json.dumps({LAYOUT: VERSION, **about, "files": files}, indent=1) + "\n"
    with write_whole(target) as draft, zipfile.ZipFile(draft, "w") as archive:
        # The manifest comes first: `head` shows what the file is.
        for name, content in {MANIFEST: manifest.encode(), **dict(sorted(members.items()))}.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system, entry.external_attr = 3, MODE << 16
            entry.compress_type = zipfile.ZIP_STORED if name in BINARY else zipfile.ZIP_DEFLATED
            entry.file_size = _size(content)
            with _open(content) as source, archive.open(entry, "w") as member:
                for piece in _pieces(source):
                    member.write(piece)


def _size(content: bytes | Path) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _open(content: bytes | Path) -> IO[bytes]:
    return io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb")


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(CHUNK), b"")


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with file:
        for piece in _pieces(file):
            digest.update(piece)
    return digest.hexdigest()


def _members(folder: Path) -> Mapping[str, zipfile.ZipInfo]:
    """Return the members of a bundle, which is checked when it is first used and after it has changed."""
    found = folder.stat()
    return _check(folder, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))


def _find(folder: Path, name: str) -> zipfile.ZipInfo:
    if name not in (members := _members(folder)):
        raise FileNotFoundError(errno.ENOENT, "no such file", f"{folder}/{name}")
    return members[name]


@lru_cache(maxsize=16)
def _check(path: Path, state: tuple[int, ...]) -> dict[str, zipfile.ZipInfo]:
    try:
        with open(path, "rb") as file:
            listed = _check_end(path, file)
            with zipfile.ZipFile(file) as archive:
                return _check_members(path, archive, listed)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError):
        raise UserError(f"{path} is damaged, or not a bundle; get the file again") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _check_end(path: Path, file: IO[bytes]) -> int:
    """Return the number of members, from the last bytes alone: a list of millions must not be read."""
    size = file.seek(0, io.SEEK_END)
    if size < END.size:
        raise UserError(f"{path} is cut off, or not a bundle; get the file again")
    file.seek(max(0, size - END.size - ZIP64_BYTES))
    tail = file.read()
    mark, *disks, here, listed, length, place, comment = END.unpack(tail[-END.size :])
    if mark != END_MARK or comment:
        raise UserError(f"{path} is cut off, or not a bundle; get the file again")
    if listed > MOST_MEMBERS or length > MOST_MEMBERS * ENTRY_BYTES:
        raise UserError(f"{path} has more than {MOST_MEMBERS:,} members, which no bundle has")
    # A second list, at a place that the first does not name, could have any number of them.
    is_zip64 = tail[: -END.size].startswith(ZIP64_MARK)
    if any(disks) or here != listed or place + length + END.size != size or is_zip64:
        raise UserError(f"{path} is not a bundle: its list of members is not where it should be")
    return int(listed)


def _check_members(path: Path, archive: zipfile.ZipFile, listed: int) -> dict[str, zipfile.ZipInfo]:
    entries = archive.infolist()
    members = {entry.orig_filename: entry for entry in entries}
    if len(entries) != listed:
        raise UserError(f"{path} is not a bundle: it has {count(len(entries), 'member')} and says {listed:,}")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise UserError(f"{path} would unpack to more than {MOST_BYTES / 1e9:g} GB, which no bundle does")
    for entry in entries:
        if reason := _find_fault(entry):
            raise UserError(f"{path}: its member {show_name(entry.orig_filename)} {reason}")
    manifest = _read_manifest(path, archive, members)
    for name in members:
        if not MEMBERS.fullmatch(name):
            raise UserError(f"{path}: its member {show_name(name)} is none that a bundle can have")
    if len(members) < len(entries):
        raise UserError(f"{path} has two members of one name, so it is not clear which one counts")
    if {MANIFEST, *manifest} != members.keys():
        other = sorted({MANIFEST, *manifest} ^ members.keys())[0]
        raise UserError(f"{path}: its manifest and its members differ: {show_name(other)} is in one of them")
    for name, (size, digest) in manifest.items():
        if members[name].file_size != size or _digest(archive.open(members[name])) != digest:
            raise UserError(f"{path}: {name} does not match its checksum; get the file again")
    return members


def _find_fault(entry: zipfile.ZipInfo) -> str:
    if not stat.S_ISREG(entry.external_attr >> 16):
        return "is a link or a folder; a bundle has files only"
    if entry.flag_bits or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in a way that olbench does not write"
    if entry.orig_filename in BINARY:
        return "" if entry.compress_type == zipfile.ZIP_STORED else "is compressed twice"
    if entry.file_size > min(MOST_TEXT, max(SHORT, MOST_RATIO * entry.compress_size)):
        return f"would unpack to {entry.file_size:,} bytes, which is too many"
    return ""


def _read_manifest(
    path: Path, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]
) -> dict[str, tuple[int, str]]:
    if MANIFEST not in members:
        raise UserError(f"{path} is not a bundle: it has no {MANIFEST}")
    try:
        content = json.loads(archive.read(MANIFEST))
        version = content[LAYOUT]
        if isinstance(version, int) and version > VERSION:
            raise UserError(f"{path} was written by a newer olbench (layout {version}); update this one")
        files = {each["path"]: (each["bytes"], each["sha256"]) for each in content["files"]}
        if version != VERSION or not all(isinstance(name, str) for name in files):
            raise ValueError
    except UserError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path} is not a bundle: its {MANIFEST} cannot be read") from None
    return files
