"""Ledgers and run files: what a report reads is right, or refused with its line."""

import hashlib
import json
import random
import zlib
from pathlib import Path
from typing import Any

from olbench.errors import UserError
from olbench.report.results import load_results
from olbench.trials import ledger, run_file
from olbench.trials.record import RecordError, read_line
from olbench.trials.trial import Trial
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes, change_lines, change_tree

FOLDERS = tuple(Path(__file__).resolve().parents[1] / "report" / name for name in ("small", "folds"))
#: Between the files of one input.
SEAM = b"\n--8<-- trials.jsonl\n"


def sealed(record: Any) -> bytes:
    """Return a record as a line, with the checksum that whoever edits it could compute."""
    if not isinstance(record, dict) or record.get("version", 1) == 1:
        return json.dumps(record).encode()
    body = json.dumps(
        {name: value for name, value in record.items() if name != "checksum"}, separators=(",", ":")
    )
    checksum = hashlib.sha256(body.encode()).hexdigest()[:16]
    return f'{body[:-1]},"checksum":"{checksum}"}}'.encode()


class RecordFuzzer:
    """One line: damaged bytes, or a changed field under a checksum that fits."""

    name = "record"

    def __init__(self) -> None:
        self.lines = [
            line for folder in FOLDERS for line in (folder / "trials.jsonl").read_bytes().splitlines()
        ]

    def make(self, random: random.Random) -> bytes:
        """Return a line of a ledger."""
        line = random.choice(self.lines)
        match random.randrange(8):
            case 0:
                return line
            case 1 | 2:
                return change_bytes(random, line)
            case 3:
                return sealed(change_tree(random, change_tree(random, json.loads(line))))
            case 4:
                return json.dumps(change_tree(random, json.loads(line))).encode()
            case 5 if random.random() < 0.02:
                return line[:-1] + b',"x":' + b"[" * 100_000
            case _:
                return sealed(change_tree(random, json.loads(line)))

    def check(self, content: bytes, folder: Path) -> str:
        """Read the line; an accepted record holds counts that a trial can have, and its checksum."""
        try:
            record = read_line(content)
        except RecordError as error:
            expect_sentence(error)
            return "refused"
        if record["version"] != 1 and sealed(record) != content.rstrip(b"\n"):
            raise Difference("accepted a record that does not match its checksum")
        Trial.of(record).key  # noqa: B018
        if record["status"] == "ok":
            _check_counts(record)
        return "accepted"


def _check_counts(record: dict[str, Any]) -> None:
    n = record.get("n", float("inf"))
    for name in ("mistakes", "updates", "errors"):
        if not 0 <= record.get(name, 0) <= n:
            raise Difference(f"accepted {record[name]} {name} in {n} examples")
    if not record.get("seconds", 0) >= 0:
        raise Difference(f"accepted {record['seconds']} seconds")
    curve = record.get("curve")
    if isinstance(curve, dict) and len(set(map(len, curve.values()))) > 1:
        raise Difference("accepted a curve with columns of several lengths")


class ResultsFuzzer:
    """A results folder: run.json and a ledger of many lines, one or two of them changed."""

    name = "results"

    def __init__(self) -> None:
        self.folders = [_small_part(folder) for folder in FOLDERS]

    def make(self, random: random.Random) -> bytes:
        """Return run.json and trials.jsonl in one."""
        run, trials = random.choice(self.folders)
        match random.randrange(8):
            case 0:
                run = change_bytes(random, run)
            case 1 | 2 | 3:
                run = json.dumps(change_tree(random, json.loads(run))).encode()
            case 4:
                trials = change_lines(random, trials)
            case 5:
                trials = change_bytes(random, trials)
            case _:
                lines = trials.splitlines()
                at = random.randrange(len(lines))
                record = change_tree(random, json.loads(lines[at]))
                if random.random() < 0.5:
                    run, record = _with_fitting_key(run, record)
                lines[at] = sealed(record)
                trials = b"\n".join(lines) + b"\n"
        return run + SEAM + trials

    def check(self, content: bytes, folder: Path) -> str:
        """Load the results and print them, mostly as text."""
        from olbench.cli.output import render
        from olbench.cli.report import render_brief
        from olbench.report.document import report_document
        from olbench.report.model import make_report
        from olbench.report.renderers import format_names

        run, _, trials = content.partition(SEAM)
        (folder / run_file.NAME).write_bytes(run)
        (folder / ledger.NAME).write_bytes(trials)
        try:
            load_results(folder).to_frame()
            chance = zlib.crc32(content)
            if chance % 8 == 0:  # the statistics take most of the time
                render(report_document(make_report(folder)), "text", folder / "report.txt")
            elif chance % 16 == 1:
                report = make_report(folder)
                render_brief(report, "olbench report results").encode()
                form = format_names()[chance // 16 % len(format_names())]
                render(report_document(report), form, folder / f"report.{form}").encode()
        except UserError as error:
            expect_sentence(error)
            return "refused"
        return "accepted"


def _with_fitting_key(run: bytes, record: Any) -> tuple[bytes, Any]:
    """Return a run file and a record with the key that whoever edits a record could compute."""
    try:
        key = Trial.of(record).key
    except (KeyError, TypeError):
        return run, record
    old = json.dumps(record.get("key")).encode()
    return run.replace(old, json.dumps(key).encode()), {**record, "key": key}


def _small_part(folder: Path) -> tuple[bytes, bytes]:
    """Return the run file and the ledger of a folder with one data set, and without a paper."""
    run = json.loads((folder / "run.json").read_bytes())
    dataset = run["config"]["datasets"][-1]["name"]
    run["config"] = {name: value for name, value in run["config"].items() if name != "paper"}
    places = range(len(run["cells"]))
    entries = [{"entry": k % len(run["config"]["algorithms"]), **run["cells"][k]} for k in places]
    run["cells"] = [cell for cell in entries if cell["dataset"] == dataset]
    lines = (folder / "trials.jsonl").read_bytes().splitlines(keepends=True)
    return json.dumps(run).encode(), b"".join(
        line for line in lines if json.loads(line)["dataset"] == dataset
    )
