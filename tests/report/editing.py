"""Edit the ledger of a run as somebody could who computes the checksums anew."""

import hashlib
import json
from pathlib import Path
from typing import Any

from olbench.records.trial import key_of


def seal(record: Any) -> bytes:
    """Return a record as a line, with a checksum that fits; what is not a record has none."""
    if not isinstance(record, dict):
        return json.dumps(record).encode() + b"\n"
    content = {name: value for name, value in record.items() if name != "checksum"}
    body = json.dumps(content, separators=(",", ":"))
    return f'{body[:-1]},"checksum":"{hashlib.sha256(body.encode()).hexdigest()[:16]}"}}\n'.encode()


def read_records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def write_records(folder: Path, records: list[dict[str, Any]]) -> None:
    (folder / "trials.jsonl").write_bytes(b"".join(map(seal, records)))


def reseal(folder: Path) -> None:
    """Give every record the checksum and the key of its fields, in run.json too."""
    records, run = read_records(folder), (folder / "run.json").read_text()
    for record in records:
        run = run.replace(record["key"], key_of(record))
        record["key"] = key_of(record)
    write_records(folder, records)
    (folder / "run.json").write_text(run)
