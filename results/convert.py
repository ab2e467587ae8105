"""Give the trials of runs that ship the versions of their algorithms, in place of hashes of their behaviour.

    python results/convert.py results/*/*/run.json tests/report/*/run.json
    python results/convert.py results/*/*/run.json --texts docs/REPRODUCTION-cw.md

Only `code`, `key` and checksums of records change, and texts that quote a key. A second time, nothing does.
"""

import argparse
import json
from pathlib import Path

from olbench.algorithms import get_definition, load_plugin
from olbench.protocols import get_protocol
from olbench.records import ledger, packed, run_file
from olbench.records.record import read_line, write_line
from olbench.records.trial import code_of, key_of

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
#: Records of ROMMA from before its norm was summed anew; others of the same trials took their place.
SUPERSEDED = {"607b5e19131b6f41": "0", "0": "0"}


def convert(folder, new_keys):
    run = json.loads((folder / run_file.NAME).read_text(encoding="utf-8"))
    for name in run["config"].get("plugins", ()):
        load_plugin(CONFIGS / name)
    path = folder / ledger.PACKED
    is_packed = path.exists()
    if is_packed:
        records = packed.unpack(path.read_bytes())
    else:
        path = folder / ledger.NAME
        records = [read_line(line) for line in path.read_bytes().splitlines()]
    records = [convert_record(record, new_keys) for record in records]
    assert len({record["key"] for record in records}) == len(records), folder
    path.write_bytes(packed.pack(records) if is_packed else b"".join(map(write_line, records)))
    run.pop("sources", None)
    for cell in run["cells"]:
        if isinstance(cell["keys"], list):
            cell["keys"] = [new_keys[key] for key in cell["keys"]]
    run_file.write(folder, run)


def convert_record(record, new_keys):
    version = get_protocol(record["protocol"]).version
    code = SUPERSEDED.get(record["code"]) or code_of(get_definition(record["algorithm"]), version)
    changed = {**record, "code": code}
    changed["key"] = new_keys[record["key"]] = key_of(changed)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="the run.json of each run")
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help="files that quote keys")
    options = parser.parse_args()
    new_keys = {}
    for path in options.runs:
        convert(path.parent, new_keys)
    for path in options.texts:
        text = path.read_text(encoding="utf-8")
        for old, new in new_keys.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
