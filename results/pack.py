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

from olbench.trials import arrays, ledger, run_file
from olbench.trials.record import write_line


def round_times(content: dict[str, Any]) -> dict[str, Any]:
    """Return a record, or one of its curves, with its times to the microsecond."""
    rounded = {}
    for name, value in content.items():
        if isinstance(value, dict):
            rounded[name] = round_times(value)
        elif name in ("seconds", "cpu_seconds") and value is not None:
            rounded[name] = [round(t, 6) for t in value] if isinstance(value, list) else round(value, 6)
        else:
            rounded[name] = value
    return rounded


def pack(folder: Path, target: Path) -> None:
    """Write what ships of a results folder."""
    target.mkdir(parents=True, exist_ok=True)
    content = run_file.read(folder).plain()
    content["machine"].pop("host", None)
    # A plugin that ships is beside its config; where it was when the run was made is nobody's business.
    if plugins := content["config"].get("plugins"):
        content["config"]["plugins"] = [Path(path).name for path in plugins]
    run_file.write(target, content)
    lines = b"".join(write_line(round_times(record)) for record in ledger.current(folder).values())
    (target / ledger.PACKED).write_bytes(lzma.compress(lines, preset=9 | lzma.PRESET_EXTREME))
    if (folder / arrays.NAME).exists():
        shutil.copyfile(folder / arrays.NAME, target / arrays.NAME)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    pack(source, target)
    for path in sorted(target.iterdir()):
        print(f"{path}: {path.stat().st_size:,} bytes")
