"""How much memory there is: the machine's, a cgroup's limit, or the limit that the user sets."""

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from olbench.errors import UserError

#: The share of the available memory that a run may plan with; the rest is for Python and the system.
USABLE = 0.9
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")

_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_user_limit: ContextVar[int | None] = ContextVar("memory limit", default=None)


@contextmanager
def pause_collector() -> Iterator[None]:
    """Hold back the garbage collector, which would walk all that a long file makes, again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 512M or 8G; units are powers of 1,024.

    >>> parse_size("1.5G")
    1610612736
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * 1024 ** _UNITS[match[2].upper()]) if match and len(text) < 40 else 0
    if size < 1:
        raise UserError(f"'{text}' is not an amount of memory; write for example 512M or 8G")
    return size


def show_size(size: float) -> str:
    """Return an amount of memory in the unit that suits it.

    >>> show_size(8 * 50_000**2), show_size(2e6)
    ('18.6 GiB', '1.9 MiB')
    """
    unit = "GiB" if size >= 2**30 else "MiB"
    return f"{size / (2**30 if unit == 'GiB' else 2**20):,.1f} {unit}"


@contextmanager
def limit_memory(size: int | None) -> Iterator[None]:
    token = _user_limit.set(size)
    try:
        yield
    finally:
        _user_limit.reset(token)


def memory_limit() -> int:
    given = _user_limit.get()
    return int(USABLE * available_memory()) if given is None else given


def available_memory() -> int:
    return max(0, min([_host_memory(), *_cgroup_memory()]))


def _host_memory() -> int:
    try:
        with open(PROC / "meminfo", encoding="utf-8") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_memory() -> Iterator[int]:
    for folder in _cgroup_folders():
        for limit_file, usage_file, cached in (
            ("memory.max", "memory.current", "file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"),
        ):
            # "max" is no limit; missing and unreadable files are skipped.
            with suppress(OSError, ValueError):
                limit = int((folder / limit_file).read_text())
                used = int((folder / usage_file).read_text())
                # The system drops cached files when memory is needed.
                yield limit - max(0, used - _cached_bytes(folder, cached))


def _cached_bytes(folder: Path, name: str) -> int:
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def _cgroup_folders() -> Iterator[Path]:
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / "memory" if controllers else CGROUPS
        # Inside a container the path is that of the host, and the limit is at the root that can be seen.
        parts = Path(path.lstrip("/")).parts
        yield from (root.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1))
