"""Bundles: a run and its dependencies in one file, without paths; docs/share.md has the layout."""

import copy
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from olbench.data.spec import DatasetSpec
from olbench.errors import UserError, show_name
from olbench.plugins import paper_folders
from olbench.records import arrays, container, ledger, run_file
from olbench.records.packed import pack
from olbench.records.record import TIMES
from olbench.records.run_file import DataFacts, RunFile
from olbench.records.shipped import find_plugin
from olbench.records.trial import Record

CONFIG, DATA = "config.yaml", "data.json"
ABOUT_DATA = ("title", "source", "page", "upstream", "by_hand", "licence", "version", "citation")


@dataclass(frozen=True)
class Bundled:
    path: Path
    digest: str
    trials: int
    datasets: int
    is_complete: bool

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size


def round_times(content: Mapping[str, Any]) -> dict[str, Any]:
    rounded: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, dict):
            rounded[name] = round_times(value)
        elif name in TIMES and value is not None:
            rounded[name] = [round(t, 6) for t in value] if isinstance(value, list) else round(value, 6)
        else:
            rounded[name] = value
    return rounded


def digest_records(records: Iterable[Record]) -> str:
    """Return a hash of the records that count, the same for a folder, its bundle, and the run that ships."""
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda each: str(each["key"])):
        content = round_times(record)
        for reference in (content.get("arrays") or {}).values():
            reference.pop("offset", None)  # the place of an array depends on earlier ones
        digest.update(json.dumps(content, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def write_run(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    content, records = _without_paths(run_file.read(folder)), ledger.current(folder)
    # The records behind a cell are one after the other, so that the run file can name their lines.
    reported = [key for cell in content["cells"] for key in cell["keys"] if key in records]
    keys = list(dict.fromkeys([*reported, *records]))
    run_file.write(target, run_file.refer_to_lines(content, keys))
    (target / ledger.PACKED).write_bytes(pack(round_times(records[key]) for key in keys))
    if (folder / arrays.NAME).is_file():
        shutil.copyfile(folder / arrays.NAME, target / arrays.NAME)


def write_bundle(folder: Path, target: Path, paper: Path | None) -> Bundled:
    if container.is_bundle(folder):
        raise UserError(f"{folder.name} is a bundle already; name the folder of a run")
    run, records = run_file.read(folder), list(ledger.current(folder).values())
    if not records:
        raise UserError(f"{folder} has no trial yet, so there is nothing to bundle")
    files = {Path(spec["path"]) for spec in run.config["datasets"] if "path" in spec}
    if twice := [name for name, number in Counter(path.name for path in files).items() if number > 1]:
        raise UserError(
            f"two data files are called {twice[0]}, and a bundle names files without folders; rename one of "
            "them, and run the config again"
        )
    members: dict[str, bytes] = {}
    content = _without_paths(run)
    content["config"] |= _add_files(run, members, paper)
    members[run_file.NAME] = _json(content)
    members[CONFIG] = _yaml(content["config"], "The config of a run as olbench resolved it.")
    members[ledger.PACKED] = pack(records)
    if (folder / arrays.NAME).is_file():
        members[arrays.NAME] = (folder / arrays.NAME).read_bytes()
    for number, rules in enumerate(_find_rules(records)):
        members[f"rules/{number}.yaml"] = _yaml(rules, "Rules that learners of this run took as advice.")
    members[DATA] = _json({name: _describe_data(run, name, facts) for name, facts in run.data.items()})
    digest = digest_records(records)
    version = str(run.versions.get("olbench", ""))
    container.write(target, members, {"run": digest, "trials": len(records), "olbench": version})
    done = {record["key"] for record in records if record["status"] == "ok"}
    complete = bool(run.end) and all(done.issuperset(cell.keys) for cell in run.cells)
    return Bundled(target, digest, len(records), len(run.data), complete)


def _without_paths(run: RunFile) -> dict[str, Any]:
    content = copy.deepcopy(run.plain())
    for place in (content, *content.get("reused", ())):
        place.get("machine", {}).pop("host", None)
    config = _without_folders(content["config"])
    for spec in config["datasets"]:
        if "path" in spec:
            spec["path"] = Path(spec["path"]).name
    if plugins := config.get("plugins"):
        config["plugins"] = [Path(path).name for path in plugins]
    content["config"] = config
    return content


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_folders(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(item) for item in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _add_files(run: RunFile, members: dict[str, bytes], paper: Path | None) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for number, path in enumerate(run.config.get("plugins", ())):
        member = f"{container.PLUGINS}{number}/{Path(path).name}"
        if not container.MEMBERS.fullmatch(member):
            raise UserError(
                f"the plugin {show_name(Path(path).name)} cannot be in a bundle under this name; rename it "
                "with letters, digits, '.', '-' and '_', and run the config again"
            )
        members[member] = _read(Path(find_plugin(path)), "the plugin")
        changed.setdefault("plugins", []).append(member)
    if paper:
        members[container.PAPER] = _read(paper, "the paper")
        # Others may not have the file, or the package that it is from.
        if paper.parent not in paper_folders().values():
            changed["paper"] = container.PAPER
    return changed


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {what} {path} of the run: {error.strerror or error}") from None


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _yaml(content: Any, head: str) -> bytes:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
    return f"# {head}\n{text}".encode()


def _find_rules(records: Iterable[Record]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        rules = record["setting"].get("rules")
        if isinstance(rules, dict) and isinstance(rules.get("rules"), list):
            content = {name: value for name, value in rules.items() if value}
            # A rule file names the class of each sign.
            if classes := {sign: name for name, sign in content.pop("classes", {}).items()}:
                content["classes"] = classes
            found.setdefault(json.dumps(rules, sort_keys=True), content)
    return list(found.values())


def _describe_data(run: RunFile, name: str, facts: DataFacts) -> dict[str, Any]:
    from olbench.data.catalog import catalog
    from olbench.data.fetch import fetch_command

    specs = map(DatasetSpec.from_plain, run.config["datasets"])
    spec = next((each for each in specs if name == each.name or name.startswith(f"{each.name}[")), None)
    known = {"fingerprint": facts.fingerprint, "rows": facts.rows, "features": facts.features}
    steps = {"prepared": list(facts.prepared)} if facts.prepared else {}
    if spec is not None and spec.path:
        reading = spec.reading.plain()
        own = {"file": Path(spec.path).name, **({"reading": reading} if reading else {})}
        how = "a file of the person who made the run; put it into the folder where you run `olbench verify`"
        return known | steps | own | {"how": how}
    entry = catalog().get(spec.name) if spec else None
    if entry is None:
        return known | steps | {"how": "not in the catalogue of this olbench"}
    about = {each: getattr(entry, each) for each in ABOUT_DATA if getattr(entry, each)}
    how = f"`{fetch_command([entry.name])}`" if entry.files else "comes with olbench or is generated by it"
    return known | steps | about | {"how": how}
