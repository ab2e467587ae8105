"""Getting the files of the catalogue: from a mirror first, then from their upstream.

Files arrive in a folder of their own and are checked there, down to the fingerprint of the parsed examples;
only then do they take their place. Whatever is wrong with one source, the next is tried.
"""

import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, urlsplit

from olbench.data.catalog import CatalogEntry, resolve
from olbench.data.compressed import SUFFIXES, base_name, open_content
from olbench.data.folders import downloads_folder
from olbench.errors import UserError

ATTEMPTS = 3
PAUSE = 0.5
#: Seconds without a single byte after which a server counts as dead.
TIMEOUT = 30.0

#: Called with the bytes received so far and those expected (0 where unknown).
Progress = Callable[[str, int, int], None]


class MissingError(Exception):
    """A source does not have a file."""


class FailedError(Exception):
    """A source has no sound copy of a file; the text says why."""


def is_present(name: str, mirror: str | None = None) -> bool:
    """Tell whether a data set of the catalogue, or a file, can be loaded without any download."""
    entry = resolve(name)
    return isinstance(entry, Path) or local_files(entry, mirror) is not None


def fetch_command(names: Sequence[str]) -> str:
    """Return the command that gets these data sets."""
    return f"olbench data fetch {' '.join(names)}"


def local_files(entry: CatalogEntry, mirror: str | None = None) -> list[Path] | None:
    """Return an entry's files from the downloads or a mirror that is a folder; None if one is missing."""
    here = _all_in_folder(downloads_folder(), entry)
    if here is not None:
        return here
    place = mirror_place(mirror)
    return _all_in_folder(place, entry) if isinstance(place, Path) else None


def _all_in_folder(folder: Path, entry: CatalogEntry) -> list[Path] | None:
    found = [path for file in entry.files if (path := _in_folder(folder, file))]
    return found if len(found) == len(entry.files) else None


def mirror_place(given: str | None = None) -> Path | str | None:
    """Return the mirror as a folder or an http(s) address, from the argument or OLBENCH_MIRROR."""
    mirror = given or os.environ.get("OLBENCH_MIRROR", "")
    if not mirror:
        return None
    if urlsplit(mirror).scheme in ("http", "https"):
        return mirror if mirror.endswith("/") else f"{mirror}/"
    if "://" in mirror:
        raise UserError(f"the mirror '{mirror}' is neither a folder nor an http(s) address")
    folder = Path(mirror).expanduser()
    if not folder.is_dir():
        raise UserError(f"the mirror '{mirror}' is not a folder; correct --mirror or OLBENCH_MIRROR")
    return folder


def fetch(
    entry: CatalogEntry, mirror: str | None = None, force: bool = False, progress: Progress | None = None
) -> list[Path]:
    """Return the files of an entry in the downloads folder, after fetching what is not there yet."""
    here = _all_in_folder(downloads_folder(), entry)
    if here is not None and not force:
        return here
    reasons = []
    for source in _sources(entry, mirror):
        try:
            return _fetch_from(source, entry, progress)
        except MissingError as error:
            reasons.append(f"{error} is not at {source.name}")
        except FailedError as error:
            reasons.append(f"{source.name}: {error}")
    raise UserError(_by_hand(entry, reasons))


def _by_hand(entry: CatalogEntry, reasons: list[str]) -> str:
    """Say what was tried, and how to do without."""
    downloads = downloads_folder()
    missing = [file for file in entry.files if not _in_folder(downloads, file)] or list(entry.files)
    tried = "; ".join(reasons) or "no mirror is set and the catalogue has no address of a file"
    address = entry.page or f"{entry.upstream[0].rstrip('/')}/{PurePosixPath(missing[0]).name}"
    return (
        f"cannot fetch {entry.name} ({tried}); get {', '.join(missing)} by hand from {address} and put it "
        f"into {downloads}, or point OLBENCH_MIRROR to a folder that has it"
    )


class FolderSource:
    """A mirror on this machine."""

    def __init__(self, folder: Path):
        self.folder, self.name = folder, str(folder)

    def get(self, file: str, target: Path, limit: int, progress: Progress | None) -> Path:
        """Copy a file in whatever compression it is there."""
        found = _in_folder(self.folder, file)
        if found is None:
            raise MissingError(file)
        if found.stat().st_size > limit:
            raise FailedError(f"{found.name} has more than {limit:,} bytes, the limit for this file")
        path = target / Path(file).parent / found.name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, path)
        return path


class HttpSource:
    """A mirror or an upstream on the network; a mirror may hold a file in another compression."""

    def __init__(self, address: str, is_mirror: bool):
        self.address, self.is_mirror, self.name = address, is_mirror, address

    def get(self, file: str, target: Path, limit: int, progress: Progress | None) -> Path:
        """Download a file."""
        for candidate in _candidates(file) if self.is_mirror else [PurePosixPath(file).name]:
            path = target / Path(file).parent / PurePosixPath(candidate).name
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                download(self.address + quote(candidate), path, limit, progress)
                return path
            except MissingError:
                continue
        raise MissingError(file)


def _sources(entry: CatalogEntry, mirror: str | None) -> Iterator[FolderSource | HttpSource]:
    place = mirror_place(mirror)
    if place is not None:
        yield FolderSource(place) if isinstance(place, Path) else HttpSource(place, is_mirror=True)
    for address in entry.upstream:
        yield HttpSource(address if address.endswith("/") else f"{address}/", is_mirror=False)


def _candidates(file: str) -> list[str]:
    """Return the names a mirror may have for a file: with and without its folder, in any compression."""
    bases = dict.fromkeys([base_name(file), base_name(PurePosixPath(file).name)])
    others = [base + suffix for base in bases for suffix in SUFFIXES]
    return list(dict.fromkeys([file, *others]))


def _in_folder(folder: Path, file: str) -> Path | None:
    return next((folder / name for name in _candidates(file) if (folder / name).is_file()), None)


def _fetch_from(
    source: FolderSource | HttpSource, entry: CatalogEntry, progress: Progress | None
) -> list[Path]:
    """Get all files of an entry from one source, check them, and move them into place."""
    with _staging() as staging:
        staged = [source.get(file, staging, entry.max_bytes, progress) for file in entry.files]
        for file, path in zip(entry.files, staged, strict=True):
            _check_bytes(entry, file, path)
        _check_examples(entry, staged)
        return [_install(path, staging, file) for file, path in zip(entry.files, staged, strict=True)]


@contextmanager
def _staging() -> Iterator[Path]:
    """Yield a new folder beside the downloads that is gone afterwards, whatever happens."""
    folder = downloads_folder() / f".partial-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True)
        yield folder
    except OSError as error:
        reason = error.strerror or error
        raise UserError(
            f"cannot write to {downloads_folder()}: {reason}; set OLBENCH_CACHE to a folder with room"
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_bytes(entry: CatalogEntry, file: str, path: Path) -> None:
    """Compare the uncompressed bytes with their checksum, where the catalogue has one."""
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
        raise FailedError(f"{path.name} does not have the checksum of the catalogue")


def _check_examples(entry: CatalogEntry, paths: list[Path]) -> None:
    from olbench.data.load import load_entry

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
    """Download one file, with a few attempts where the fault may pass; it is complete or not there."""
    import requests

    for attempt in range(ATTEMPTS):
        try:
            _retrieve(address, path, limit, progress)
            return
        except requests.HTTPError as error:
            code = error.response.status_code
            if code in (404, 410):
                raise MissingError(path.name) from None
            reason = f"the server answered {code} for {path.name}"
            if code < 500 and code != 429:
                break
        except requests.Timeout:
            reason = f"no answer for {TIMEOUT:g} seconds"
        except (requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL, requests.TooManyRedirects):
            reason = f"{path.name} is redirected to where it cannot be fetched from"
            break
        except requests.RequestException as error:
            reason = _network_reason(error, path.name)
        if attempt + 1 < ATTEMPTS:
            time.sleep(PAUSE * 2**attempt)
    raise FailedError(reason)


def _network_reason(error: Any, name: str) -> str:
    text = str(error)
    if "IncompleteRead" in text or "Connection broken" in text:
        return f"the connection broke while {name} was on its way"
    if "timed out" in text.lower():
        return f"no answer for {TIMEOUT:g} seconds"
    return "the server cannot be reached"


def _retrieve(address: str, path: Path, limit: int, progress: Progress | None) -> None:
    import pooch  # type: ignore[import-untyped]

    pooch.get_logger().setLevel("ERROR")
    pooch.retrieve(
        address,
        known_hash=None,
        fname=path.name,
        path=path.parent,
        downloader=_Downloader(limit, path.name, progress),
    )


class _Downloader:
    """What pooch calls for a file: http(s) with a limit to the size, news of the progress, no loose ends.

    pooch's own downloader neither limits the size nor closes the connection when writing fails.
    """

    def __init__(self, limit: int, name: str, progress: Progress | None):
        self.limit, self.name, self.progress = limit, name, progress

    def __call__(self, url: str, output_file: Any, pooch_object: Any) -> None:
        import requests

        # Without an encoding of its own the transfer has the size that the server announces.
        headers = {"Accept-Encoding": "identity"}
        with requests.get(url, stream=True, timeout=TIMEOUT, headers=headers) as response:
            response.raise_for_status()
            announced = response.headers.get("Content-Length", "")
            with open(output_file, "wb") as file:
                self._copy(response.iter_content(1 << 16), file, int(announced) if announced.isdigit() else 0)

    def _copy(self, pieces: Iterator[bytes], file: IO[bytes], total: int) -> None:
        size = 0
        for piece in pieces:
            size += len(piece)
            if max(size, total) > self.limit:
                raise FailedError(f"{self.name} has more than {self.limit:,} bytes, its limit")
            file.write(piece)
            if self.progress is not None:
                self.progress(self.name, size, total)
