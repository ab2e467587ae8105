"""Pack a run as reference results that ship with the code.

    python results/pack.py results/scw results/scw/reference
    python results/pack.py results/scw-variants results/scw/variants

writes run.json and trials.jsonl.xz: of each trial the record that counts, times to the microsecond, and of
the machine no name. `olbench report` reads the folder.
"""

import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

from olbench.engine import runfile
from olbench.trials import arrays, ledger
from olbench.trials.record import write_line


def round_times(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its times to the microsecond."""
    curve = record["curve"] and {
        **record["curve"],
        "seconds": [round(t, 6) for t in record["curve"]["seconds"]],
    }
    return {**record, "curve": curve, "seconds": round(record["seconds"], 6),
            "cpu_seconds": round(record["cpu_seconds"], 6)}  # fmt: skip


def pack(folder: Path, target: Path) -> None:
    """Write what ships of a results folder."""
    target.mkdir(parents=True, exist_ok=True)
    content = runfile.read(folder).plain()
    content["machine"].pop("host", None)
    runfile.write(target, content)
    lines = b"".join(write_line(round_times(record)) for record in ledger.current(folder).values())
    (target / ledger.PACKED).write_bytes(lzma.compress(lines, preset=9 | lzma.PRESET_EXTREME))
    if (folder / arrays.NAME).exists():
        shutil.copyfile(folder / arrays.NAME, target / arrays.NAME)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    pack(source, target)
    for path in sorted(target.iterdir()):
        print(f"{path}: {path.stat().st_size:,} bytes")
