"""How much memory there is: the machine's, or what the limit of a cgroup or of the user allows."""

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
    """Pause the garbage collector, which would walk the objects of a long file again and again."""
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
    """Yield what the limits of a container or a batch job leave, for both versions of cgroups."""
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, *names = (
            (CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache")
            if controllers
            else (CGROUPS, "memory.max", "memory.current", "file")
        )
        # Inside a container the path is that of the host, and the limit is at the root that can be seen.
        parts = Path(path.lstrip("/")).parts
        for depth in range(len(parts) + 1):
            # "max" means no limit; missing and unreadable files are skipped.
            with suppress(OSError, ValueError):
                folder = root.joinpath(*parts[:depth])
                limit, used = (int((folder / name).read_text()) for name in names[:2])
                stat = folder / "memory.stat"
                fields = dict(line.split() for line in stat.read_text().splitlines()) if stat.exists() else {}
                # The system drops cached files when memory is needed.
                yield limit - max(0, used - int(fields.get(names[2], 0)))
