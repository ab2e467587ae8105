"""Files inside a tar archive, which is never unpacked to disk."""

import io
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Self

from olbench.data.compressed import read_content
from olbench.errors import UserError


@dataclass(frozen=True)
class Member:
    pattern: str
    name: str
    content: bytes


def read_members(path: str | Path, patterns: Sequence[str], limit: int | None = None) -> list[Member]:
    """Ordered by pattern and then by name, however the archive was packed; hidden files never match.

    Archives with a name that leaves the folder are refused as a whole.
    """
    places = {pattern: place for place, pattern in enumerate(patterns)}
    members = list(_scan(io.BytesIO(read_content(path, limit)), path, patterns))
    absent = places.keys() - {member.pattern for member in members}
    if absent:
        raise UserError(f"{path}: no file of the archive matches '{min(absent, key=places.__getitem__)}'")
    members.sort(key=lambda member: (places[member.pattern], member.name))
    return members


def _scan(content: IO[bytes], path: str | Path, patterns: Sequence[str]) -> Iterator[Member]:
    seen = set()
    try:
        with tarfile.open(fileobj=content, mode="r:", tarinfo=_StrictInfo) as archive:
            for info in archive:
                _check_place(path, info)
                pattern = next((each for each in patterns if fnmatchcase(info.name, each)), None)
                if pattern is None or info.isdir() or PurePosixPath(info.name).name.startswith("."):
                    continue
                file = archive.extractfile(info) if info.isfile() else None
                if file is None:
                    raise UserError(f"{path}: {info.name} is a link or a device, not a file")
                if info.name in seen:
                    raise UserError(f"{path}: {info.name} is in the archive twice")
                seen.add(info.name)
                yield Member(pattern, info.name, file.read())
    except tarfile.TarError as error:
        raise UserError(f"{path} is not a tar archive, or it is damaged ({error})") from None


class _StrictInfo(tarfile.TarInfo):
    """A header whose damage is an error; by default tarfile takes it for the end of the archive."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None


def _check_place(path: str | Path, info: tarfile.TarInfo) -> None:
    targets = [info.name, info.linkname] if info.islnk() or info.issym() else [info.name]
    for target in targets:
        place = PurePosixPath(target.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts:
            raise UserError(f"{path}: the name '{target}' leaves the folder of the archive; it is not read")
