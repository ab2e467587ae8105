"""Pack a run as reference results that ship with the code.

    python results/pack.py results/scw results/scw/reference
    python results/pack.py results/scw-variants results/scw/variants

writes run.json and trials.jsonl.xz: of each trial the record that counts, times to the microsecond, and of
the machine no name. `olbench report` reads the folder.
"""

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from olbench.engine import ledger, runfile


def rounded(record: dict[str, Any]) -> dict[str, Any]:
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
    info = runfile.read(folder)
    info["machine"].pop("host", None)
    runfile.write(target, info)
    records = ledger.latest(ledger.read(folder)).values()
    lines = (json.dumps(rounded(record), separators=(",", ":")) + "\n" for record in records)
    (target / ledger.PACKED).write_bytes(
        lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    )


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    pack(source, target)
    for path in sorted(target.iterdir()):
        print(f"{path}: {path.stat().st_size:,} bytes")
