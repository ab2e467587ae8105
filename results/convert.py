"""Write runs of format 1 in format 2: `format` in every JSON, and packed ledgers as trials.json.xz.

    python results/convert.py OLD results/*/*/run.json tests/report/*/run.json

OLD is a checkout of the last olbench that reads the old form. No key and no number changes.
"""

import argparse
import json
import subprocess
from pathlib import Path

from olbench.records import ledger, packed, run_file
from olbench.records.record import FORMAT, write_line

READ = (
    "import json, sys; from pathlib import Path; from olbench.records import ledger\n"
    "for record in ledger.each(Path(sys.argv[1])):\n"
    "    print(json.dumps(record))"
)


def convert(old, folder):
    command = [old / ".venv/bin/python", "-c", READ, folder.resolve()]
    lines = subprocess.run(command, cwd=old, capture_output=True, check=True).stdout.splitlines()
    records = [rename(json.loads(line)) for line in lines]
    former = folder / "trials.columns.xz"
    if former.exists():
        (folder / ledger.PACKED).write_bytes(packed.pack(records))
        former.unlink()
    else:
        (folder / ledger.NAME).write_bytes(b"".join(map(write_line, records)))
    again = list(ledger.each(folder))
    assert repr(again) == repr(records), folder
    run_file.write(folder, rename(json.loads((folder / run_file.NAME).read_text(encoding="utf-8"))))


def rename(content):
    named = {"format" if name == "version" else name: value for name, value in content.items()}
    assert named["format"] == FORMAT
    named.pop("checksum", None)
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("runs", nargs="+", type=Path, help="the run.json of each run")
    options = parser.parse_args()
    for path in options.runs:
        convert(options.old, path.parent)


if __name__ == "__main__":
    main()
