"""Pack a run as reference results that ship with the code.

    python results/pack.py results/scw results/scw/reference
    python results/pack.py results/scw-variants results/scw/variants

writes run.json and trials.json.xz: of each trial the record that counts, times to the microsecond, and of
the machine no name. `olbench report` reads the folder.
"""

import sys
from pathlib import Path

from olbench.records.bundle import write_run

if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    write_run(source, target)
    for path in sorted(target.iterdir()):
        print(f"{path}: {path.stat().st_size:,} bytes")
