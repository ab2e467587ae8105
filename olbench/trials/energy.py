"""The energy that the processors of this machine use, from the counters of Linux (RAPL)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Where Linux has the counters: one folder per domain, which AMD's processors have under the same name.
POWERCAP = Path("/sys/class/powercap")
_COUNTER, _RANGE = "energy_uj", "max_energy_range_uj"
MEASURED = "counters of the processor packages (RAPL)"
NOT_AVAILABLE = "not available"


@dataclass(frozen=True)
class Meter:
    """The counters of the processor packages, or why there are none."""

    packages: tuple[Path, ...]
    reason: str = ""

    def __str__(self) -> str:
        return f"{NOT_AVAILABLE}: {self.reason}" if self.reason else MEASURED

    def read(self) -> tuple[int, ...] | None:
        """Return the counters in microjoules, or None without any."""
        try:
            return tuple(_read_number(each / _COUNTER) for each in self.packages) or None
        except (OSError, ValueError):
            return None

    def joules_since(self, before: Sequence[int] | None) -> float | None:
        """Return the energy used since an earlier `read`, by all packages; None without counters.

        A counter starts again from zero after its range. That it did so twice cannot be noticed; a package
        at 200 watts takes several minutes at least to go through a range once.
        """
        now = self.read()
        if before is None or now is None:
            return None
        try:
            ranges = [_read_number(each / _RANGE) for each in self.packages]
        except (OSError, ValueError):
            return None
        used = (
            last - first + (span if last < first else 0)
            for first, last, span in zip(before, now, ranges, strict=True)
        )
        return sum(used) / 1e6


def open_meter() -> Meter:
    """Return the counters of this machine that can be read, or why none can."""
    # One folder per package: "intel-rapl:0:1" would be a part of it, and "intel-rapl-mmio:0" the same again.
    zones = [each for each in sorted(POWERCAP.glob("intel-rapl:*")) if each.name.count(":") == 1]
    packages = tuple(each for each in zones if _read_text(each / "name").startswith("package"))
    if not packages:
        return Meter((), f"this machine has no energy counters of a processor in {POWERCAP}")
    meter = Meter(packages)
    if meter.read() is None:
        return Meter((), f"{packages[0] / _COUNTER} cannot be read; most systems allow it to root only")
    return meter


def _read_number(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
