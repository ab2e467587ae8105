"""Fetching the files of the catalogue: from a mirror first, then from upstream.

They are checked, down to the fingerprint of the examples, before they are moved into place.
"""

import hashlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from olbench.data.compressed import SUFFIXES, base_name, open_content
from olbench.errors import UserError, expand_home
from olbench.files import cache_folder

if TYPE_CHECKING:
    from olbench.data.catalog import CatalogEntry

ATTEMPTS = 3
PAUSE = 0.5
#: Seconds without a byte after which a server is considered dead.
TIMEOUT = 30.0
#: A server must send a piece of this many bytes, or the rest of the file, in as many seconds.
PIECE, PATIENCE = 1 << 14, 60.0

#: Called with the file name, the bytes received so far and the bytes expected (0 if unknown).
Progress = Callable[[str, int, int], None]


class MissingError(Exception):
    """A source does not have a file."""


class FailedError(Exception):
    """A source has no valid copy of a file; the message says why."""


def downloads_folder() -> Path:
    return cache_folder() / "downloads"


def is_present(name: str) -> bool:
    from olbench.data.catalog import resolve

    entry = resolve(name)
    return isinstance(entry, Path) or local_files(entry) is not None


def fetch_command(names: Sequence[str]) -> str:
    return f"olbench data fetch {' '.join(names)}"


def local_files(entry: "CatalogEntry", mirror: str | None = None) -> list[Path] | None:
    files = _find_all(Path(entry.folder), entry) if entry.folder else None
    files = files or _find_all(downloads_folder(), entry)
    if files is not None:
        return files
    place = mirror_place(mirror)
    return _find_all(place, entry) if isinstance(place, Path) else None


def _find_all(folder: Path, entry: "CatalogEntry") -> list[Path] | None:
    paths = [path for file in entry.files if (path := _find_file(folder, file))]
    return paths if len(paths) == len(entry.files) else None


def mirror_place(given: str | None = None) -> Path | str | None:
    mirror = given or os.environ.get("OLBENCH_MIRROR", "")
    if not mirror:
        return None
    if _is_web_address(mirror):
        return mirror if mirror.endswith("/") else f"{mirror}/"
    if "://" in mirror:
        raise UserError(f"the mirror '{hide_password(mirror)}' is neither a folder nor an http(s) address")
    folder = expand_home(mirror)
    if not folder.is_dir():
        raise UserError(
            f"the mirror '{hide_password(mirror)}' is not a folder; correct --mirror or OLBENCH_MIRROR"
        )
    return folder


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def hide_password(address: str) -> str:
    """Return an address without the name and the password before its host.

    >>> hide_password("https://me:secret@example.org/data/"), hide_password("me:sec/ret@example.org")
    ('https://...@example.org/data/', '...@example.org')
    """
    usual = re.sub(r"^([^:/]+://)[^/?#]*@", r"\1...@", address)
    if usual != address:
        return usual
    # An address that is not well formed may have a password as well: with a slash in it, or without a scheme.
    match = re.match(r"((?:[A-Za-z][\w+.-]*:(?=/))?+/{0,2}+)([^@]*:.*)@", address, re.DOTALL)
    if match is None or re.match(r"[^:/?#@]+:[0-9]+/", match[2]):
        return address
    return f"{match[1]}...@{address[match.end() :]}"


def fetch(
    entry: "CatalogEntry", mirror: str | None = None, force: bool = False, progress: Progress | None = None
) -> list[Path]:
    if entry.folder and (files := _find_all(Path(entry.folder), entry)):
        return files
    files = _find_all(downloads_folder(), entry)
    if files is not None and not force:
        return files
    reasons = []
    for place, is_mirror in _list_places(entry, mirror):
        try:
            return _fetch_from(place, is_mirror, entry, progress)
        except MissingError as error:
            reasons.append(f"{hide_password(str(place))} does not have {error}")
        except FailedError as error:
            reasons.append(f"{hide_password(str(place))}: {error}")
    raise UserError(_explain_by_hand(entry, reasons))


def _explain_by_hand(entry: "CatalogEntry", reasons: list[str]) -> str:
    downloads = downloads_folder()
    missing = [file for file in entry.files if not _find_file(downloads, file)] or list(entry.files)
    tried = "; ".join(reasons) or "no mirror is set and the catalogue has no download address"
    address = entry.page or f"{entry.upstream[0].rstrip('/')}/{PurePosixPath(missing[0]).name}"
    return (
        f"cannot fetch {entry.name} ({tried}); get {', '.join(missing)} by hand from {address} and put it "
        f"into {downloads}, or set OLBENCH_MIRROR to a folder that has it"
    )


def _list_places(entry: "CatalogEntry", mirror: str | None) -> Iterator[tuple[Path | str, bool]]:
    place = mirror_place(mirror)
    if place is not None:
        yield place, True
    for address in entry.upstream:
        yield address if address.endswith("/") else f"{address}/", False


def _get(
    place: Path | str, names: Sequence[str], target: Path, limit: int, progress: Progress | None
) -> Path:
    for name in names:
        path = target / PurePosixPath(name).name
        try:
            if isinstance(place, Path):
                _copy(place / name, path, limit)
            else:
                download(place + quote(name), path, limit, progress)
            return path
        except MissingError:
            continue
    raise MissingError(names[0])


def _copy(original: Path, path: Path, limit: int) -> None:
    if not original.is_file():
        raise MissingError(original.name)
    if original.stat().st_size > limit:
        raise FailedError(f"{original.name} has more than {limit:,} bytes, the limit for this file")
    shutil.copyfile(original, path)


def _candidates(file: str) -> list[str]:
    """Return the names that a mirror may use for a file: with or without its folder, in any compression."""
    bases = dict.fromkeys([base_name(file), base_name(PurePosixPath(file).name)])
    others = [base + suffix for base in bases for suffix in SUFFIXES]
    return list(dict.fromkeys([file, *others]))


def _find_file(folder: Path, file: str) -> Path | None:
    return next((folder / name for name in _candidates(file) if (folder / name).is_file()), None)


def _fetch_from(
    place: Path | str, is_mirror: bool, entry: "CatalogEntry", progress: Progress | None
) -> list[Path]:
    with _staging() as staging:
        staged = []
        for file in entry.files:
            target = staging / Path(file).parent
            target.mkdir(parents=True, exist_ok=True)
            # A mirror may use another compression, upstream has one name.
            names = _candidates(file) if is_mirror else [PurePosixPath(file).name]
            staged.append(_get(place, names, target, entry.max_bytes, progress))
            _check_bytes(entry, file, staged[-1])
        _check_examples(entry, staged)
        return [_install(path, staging, file) for file, path in zip(entry.files, staged, strict=True)]


@contextmanager
def _staging() -> Iterator[Path]:
    folder = downloads_folder() / f".partial-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True)
        yield folder
    except OSError as error:
        reason = error.strerror or error
        raise UserError(
            f"cannot write to {downloads_folder()}: {reason}; set OLBENCH_CACHE to a folder with free space"
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_bytes(entry: "CatalogEntry", file: str, path: Path) -> None:
    if file not in entry.sha256:
        return
    digest, size = hashlib.sha256(), 0
    try:
        with open_content(path) as stream:
            while piece := stream.read(1 << 20):
                size += len(piece)
                if size > entry.max_bytes:
                    raise FailedError(
                        f"{path.name} unpacks to more than {entry.max_bytes:,} bytes, its limit"
                    )
                digest.update(piece)
    except UserError as error:
        raise FailedError(str(error).replace(str(path), path.name)) from None
    if digest.hexdigest() != entry.sha256[file]:
        raise FailedError(f"{path.name} does not match the checksum in the catalogue")


def _check_examples(entry: "CatalogEntry", paths: list[Path]) -> None:
    from olbench.data.entries import load_entry  # it takes SciPy, which finding a file does not

    try:
        load_entry(entry, paths)
    except UserError as error:
        text = str(error).split("; replace it with")[0]
        for path in paths:
            text = text.replace(str(path), path.name)
        raise FailedError(text.removeprefix(f"{entry.name}: ")) from None


def _install(path: Path, staging: Path, file: str) -> Path:
    final = downloads_folder() / path.relative_to(staging)
    final.parent.mkdir(parents=True, exist_ok=True)
    path.replace(final)
    for name in _candidates(file):
        other = downloads_folder() / name
        if other != final:
            other.unlink(missing_ok=True)
    return final


def download(address: str, path: Path, limit: int, progress: Progress | None = None) -> None:
    """Download one file completely or not at all; transient failures are retried."""
    for attempt in range(ATTEMPTS):
        try:
            _retrieve(address, path, limit, progress)
            return
        except Exception as error:
            path.unlink(missing_ok=True)
            reason, is_transient = _explain_failure(error, path.name)
        if not is_transient:
            break
        if attempt + 1 < ATTEMPTS:
            time.sleep(PAUSE * 2**attempt)
    raise FailedError(reason)


def _explain_failure(error: Exception, name: str) -> tuple[str, bool]:
    """Return why a download failed, and whether another attempt may succeed; other errors are raised."""
    import requests

    match error:
        case requests.HTTPError():
            code = error.response.status_code
            if code in (404, 410):
                raise MissingError(name) from None
            return f"the server answered {code} for {name}", code >= 500 or code == 429
        case requests.Timeout():
            return f"no answer for {TIMEOUT:g} seconds", True
        case requests.exceptions.InvalidSchema() | requests.TooManyRedirects() | ValueError():
            # InvalidURL is a ValueError, and so is what the standard library raises for half an address.
            if "header" in type(error).__name__.lower() or "Content-Length" in str(error):
                return f"the answer for {name} is not valid", False
            return f"{name} is redirected to an address that cannot be fetched", False
        case requests.RequestException():
            return _explain_network_error(str(error), name), True
    raise error


def _explain_network_error(text: str, name: str) -> str:
    bad_chunk = "InvalidChunkLength" in text and "got length b''" not in text
    if bad_chunk or any(word in text for word in ("BadStatusLine", "content-encoding", "Header")):
        return f"the answer for {name} is not valid"
    if "IncompleteRead" in text or "Connection broken" in text:
        return f"the connection broke during the download of {name}"
    if "timed out" in text.lower():
        return f"no answer for {TIMEOUT:g} seconds"
    return "the server cannot be reached"


def _retrieve(address: str, path: Path, limit: int, progress: Progress | None) -> None:
    size = 0
    with open(path, "wb") as file, closing(_receive_aside(address, path.name)) as pieces:
        for piece, total in pieces:
            size += len(piece)
            if max(size, total) > limit:
                raise FailedError(f"{path.name} has more than {limit:,} bytes, its limit")
            file.write(piece)
            if progress is not None:
                progress(path.name, size, total)


def _receive_aside(address: str, name: str) -> Generator[tuple[bytes, int], None, None]:
    """Give up after PATIENCE: no timeout ends a read while a byte comes now and then."""
    arrived: Queue[tuple[bytes, int] | Exception | None] = Queue(maxsize=16)
    is_left = Event()

    def receive() -> None:
        try:
            for each in _receive(address, name):
                arrived.put(each)
                if is_left.is_set():
                    return
            arrived.put(None)
        except Exception as error:
            arrived.put(error)

    Thread(target=receive, daemon=True).start()
    try:
        while (found := arrived.get(timeout=PATIENCE)) is not None:
            if isinstance(found, Exception):
                try:
                    raise found
                finally:
                    del found  # otherwise the error would keep itself and its connection alive
            yield found
    except Empty:
        raise FailedError(
            f"{name} comes too slowly, at less than {PIECE:,} bytes in {PATIENCE:g} seconds"
        ) from None
    finally:
        is_left.set()
        with suppress(Empty):
            arrived.get_nowait()  # the thread may be waiting for room


def _receive(address: str, name: str) -> Iterator[tuple[bytes, int]]:
    """Yield the pieces of a file, each with the bytes that the server announced for all, 0 if it did not."""
    import requests

    # Without a content encoding, the bytes received match the size that the server announces.
    headers = {"Accept-Encoding": "identity"}
    with requests.get(address, stream=True, timeout=TIMEOUT, headers=headers) as response:
        response.raise_for_status()
        announced = response.headers.get("Content-Length", "")
        # Other digits, and thousands of them, are possible in a header as well.
        total = int(announced) if re.fullmatch("[0-9]{1,18}", announced) else 0
        pieces = response.iter_content(PIECE)
        while piece := _next_piece(pieces, name):
            yield piece, total


def _next_piece(pieces: Iterator[bytes], name: str) -> bytes:
    try:
        return next(pieces, b"")
    except ValueError:  # such as a chunk of a negative size
        raise FailedError(f"the answer for {name} is not valid") from None
