"""Fetching the files of the catalogue: from a mirror first, then from upstream.

Files are checked, down to the fingerprint of the examples, before they are moved into place.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from olbench.data.catalog import ADDRESS, CatalogEntry, resolve
from olbench.data.compressed import SUFFIXES, base_name, read_content
from olbench.errors import UserError, expand_home
from olbench.files import cache_folder

ATTEMPTS, PAUSE = 3, 0.5
#: Seconds without a byte after which a server is considered dead.
TIMEOUT = 30.0
#: A download must bring PIECE bytes in PATIENCE seconds, on average.
PIECE, PATIENCE = 1 << 14, 60.0

#: Called with the file name, the bytes received so far and the bytes expected (0 if unknown).
Progress = Callable[[str, int, int], None]


class FailedError(Exception):
    """A source has no valid copy of a file; the message says why."""


def downloads_folder() -> Path:
    return cache_folder() / "downloads"


def is_present(name: str) -> bool:
    entry = resolve(name)
    return isinstance(entry, Path) or local_files(entry) is not None


def fetch_command(names: Sequence[str]) -> str:
    return f"olbench data fetch {' '.join(names)}"


def local_files(entry: CatalogEntry, mirror: str | None = None) -> list[Path] | None:
    files = _find_here(entry)
    if files is None and isinstance(place := mirror_place(mirror), Path):
        return _find_all(place, entry)
    return files


def _find_here(entry: CatalogEntry, anew: bool = False) -> list[Path] | None:
    files = _find_all(Path(entry.folder), entry) if entry.folder else None
    return _find_all(downloads_folder(), entry) if files is None and not anew else files


def _find_all(folder: Path, entry: CatalogEntry) -> list[Path] | None:
    paths = [path for file in entry.files if (path := _find_file(folder, file))]
    return paths if len(paths) == len(entry.files) else None


def _find_file(folder: Path, file: str) -> Path | None:
    return next((folder / name for name in _list_names(file) if (folder / name).is_file()), None)


def _list_names(file: str) -> list[str]:
    """Return the names that a mirror may use for a file: with or without its folder, in any compression."""
    bases = (base_name(file), base_name(PurePosixPath(file).name))
    return list(dict.fromkeys([file, *(base + suffix for base in bases for suffix in SUFFIXES)]))


def mirror_place(given: str | None = None) -> Path | str | None:
    mirror = given or os.environ.get("OLBENCH_MIRROR", "")
    if not mirror:
        return None
    if ADDRESS.match(mirror):
        return mirror if mirror.endswith("/") else f"{mirror}/"
    folder = expand_home(mirror)
    if "://" in mirror or not folder.is_dir():
        shown = f"the mirror '{hide_password(mirror)}' is neither a folder nor an http(s) address"
        raise UserError(f"{shown}; correct --mirror or OLBENCH_MIRROR")
    return folder


def hide_password(address: str) -> str:
    """Return an address without the name and the password before its host, well formed or not."""
    return re.sub(r"^(?=.*:)([A-Za-z][\w+.-]*:/{1,2}|/{0,2}).*@", r"\1...@", address, flags=re.DOTALL)


def fetch(
    entry: CatalogEntry, mirror: str | None = None, force: bool = False, progress: Progress | None = None
) -> list[Path]:
    if (files := _find_here(entry, anew=force)) is not None:
        return files
    downloads, reasons, place = downloads_folder(), [], mirror_place(mirror)
    for source in (place, *entry.upstream) if place else entry.upstream:
        try:
            return _fetch_from(source, entry, progress)
        except FailedError as error:
            reasons.append(f"{hide_password(str(source))}: {error}")
    missing = [file for file in entry.files if not _find_file(downloads, file)] or entry.files
    tried = "; ".join(reasons) or "no mirror is set and the catalogue has no download address"
    address = entry.page or " or ".join(entry.upstream) or "its package"
    raise UserError(
        f"cannot fetch {entry.name} ({tried}); get {', '.join(missing)} by hand from {address} and put it "
        f"into {downloads}, or set OLBENCH_MIRROR to a folder that has it"
    )


def _fetch_from(source: Path | str, entry: CatalogEntry, progress: Progress | None) -> list[Path]:
    folder = downloads_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".partial-", dir=folder) as staging:
            staged = []
            for file in entry.files:
                target = Path(staging, file).parent
                target.mkdir(parents=True, exist_ok=True)
                # A mirror may use another compression; upstream has one name.
                names = [PurePosixPath(file).name] if source in entry.upstream else _list_names(file)
                staged.append(_get(source, names, target, progress))
            _check(entry, staged)
            return [_install(path, staging, file) for file, path in zip(entry.files, staged, strict=True)]
    except OSError as error:
        reason = f"cannot write to {folder}: {error.strerror or error}"
        raise UserError(f"{reason}; set OLBENCH_CACHE to a folder with free space") from None


def _get(source: Path | str, names: Sequence[str], target: Path, progress: Progress | None) -> Path:
    for name in names:
        path = target / PurePosixPath(name).name
        if isinstance(source, Path) and (source / name).is_file():
            return Path(shutil.copyfile(source / name, path))
        address = f"{str(source).rstrip('/')}/{quote(name)}"
        if isinstance(source, str) and download(address, path, progress):
            return path
    raise FailedError(f"there is no {names[0]}")


def _check(entry: CatalogEntry, paths: Sequence[Path]) -> None:
    from olbench.data.entries import load_entry  # it takes SciPy, which finding a file does not

    try:
        for file, path in zip(entry.files, paths, strict=True):
            wanted = entry.sha256.get(file)
            if wanted and hashlib.sha256(read_content(path)).hexdigest() != wanted:
                raise UserError(f"{path.name} does not match the checksum in the catalogue")
        load_entry(entry, paths)
    except UserError as error:
        text = error.reason.removeprefix(f"{entry.name}: ")
        for path in paths:
            text = text.replace(str(path), path.name)
        raise FailedError(text) from None


def _install(path: Path, staging: str, file: str) -> Path:
    final = downloads_folder() / path.relative_to(staging)
    final.parent.mkdir(parents=True, exist_ok=True)
    path.replace(final)
    for name in _list_names(file):
        if (other := downloads_folder() / name) != final:
            other.unlink(missing_ok=True)
    return final


def download(address: str, path: Path, progress: Progress | None) -> bool:
    """Download one file completely, and return whether the server has it; transient failures are retried."""
    import requests
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    # Without a content encoding, the bytes received match the size that the server announces.
    headers = {"Accept-Encoding": "identity"}
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2**attempt)
        try:
            with requests.get(address, stream=True, timeout=TIMEOUT, headers=headers) as response:
                if response.ok:
                    return _write_body(response, path, progress)
                if (code := response.status_code) in (404, 410):
                    return False
                reason = f"the server answered {code} for {path.name}"
                if code < 500 and code != 429:
                    raise FailedError(reason)
        except (requests.Timeout, ReadTimeoutError):
            reason = f"no answer for {TIMEOUT:g} seconds"
        except (HTTPError, requests.exceptions.InvalidHeader):
            reason = f"the connection broke during the download of {path.name}"
        except (requests.exceptions.InvalidSchema, requests.TooManyRedirects, ValueError):
            raise FailedError(f"{path.name} is redirected to an address that cannot be fetched") from None
        except requests.RequestException:
            reason = "the server cannot be reached"
    raise FailedError(reason)


def _write_body(response: Any, path: Path, progress: Progress | None) -> bool:
    announced = response.headers.get("Content-Length", "")
    # A header may also have the digits of other scripts, or thousands of them.
    total = int(announced) if re.fullmatch("[0-9]{1,18}", announced) else 0
    # Unlike read, read1 returns as soon as a byte has come; urllib3 has it since 2.1.
    read = getattr(response.raw, "read1", response.raw.read)
    size, began = 0, time.monotonic()
    with open(path, "wb") as file:
        while piece := read(PIECE, decode_content=True):
            size += len(piece)
            if time.monotonic() - began > PATIENCE * (1 + size / PIECE):
                raise FailedError(f"{path.name} comes at less than {PIECE:,} bytes in {PATIENCE:g} seconds")
            file.write(piece)
            if progress is not None:
                progress(path.name, size, total)
    return True
