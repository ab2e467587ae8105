"""Provenance: code, versions, machine, seeds, and how to run it again."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from olbench.errors import count, plural, shorten
from olbench.records.run_file import RunFile
from olbench.records.seeds import STREAMS
from olbench.report.model import Report
from olbench.report.sections import Section, register


def parts(report: Report) -> Iterator[str]:
    run = report.results.run
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    changes = " with uncommitted changes" if run.dirty else ""
    commit = f"commit {run.commit[:12]}{changes}; " if run.commit else ""
    yield f"{commit}seed {report.results.config.seed}; {versions}; {machine_text(run)}"
    if run.deaths:
        yield f"During the run, {'; '.join(run.deaths)}."


def machine_text(run: RunFile) -> str:
    cores = run.machine.get("cores")
    parts = (run.machine.get("processor"), cores and count(cores, "core"), run.machine.get("system"))
    return ", ".join(str(part) for part in parts if part) or "unknown machine"


def data(report: Report) -> Mapping[str, Any]:
    content = report.results.run.plain() | {"config": report.results.config.plain()}
    names = ("config", "data", "seeds", "versions", "commit", "dirty", "machine", "start", "end")
    return {"run": {name: content[name] for name in names}}


def page(report: Report) -> Mapping[str, Any]:
    run = report.results.run
    facts = {
        "Commit": f"{run.commit or 'unknown'}{', with uncommitted changes' if run.dirty else ''}",
        "Started": run.start,
        "Ended": run.end or "not finished",
        "Machine": machine_text(run),
        "Protocol": ", ".join(filter(None, (report.protocol.id, changed_settings(report)))),
        "Seed": f"{report.results.config.seed}, streams {', '.join(STREAMS)}",
        "Versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
        "During the run": "; ".join(run.deaths),
    }
    return {
        "facts": [(name, str(value)) for name, value in facts.items() if value],
        "commands": commands(report),
        "config": config_yaml(report),
    }


def changed_settings(report: Report) -> str:
    """Return the settings that differ from the protocol's defaults, except the number of trials."""
    protocol = report.protocol
    usual = type(protocol).experiment.own
    trials = plural(protocol.numbered), max((entry.planned for entry in report.results.entries), default=0)
    changed = {
        name: each
        for name, each in protocol.experiment.own.items()
        if each != usual[name] and (name, each) != trials
    }
    return shorten(json.dumps(changed, ensure_ascii=False).replace('"', "")[1:-1], 300)


def config_yaml(report: Report) -> str:
    plain = json.loads(json.dumps(report.results.config.plain()))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)


def commands(report: Report) -> list[str]:
    name = report.results.name
    config, folder, page = (shlex.quote(each) for each in (f"{name}.yaml", f"results/{name}", f"{name}.html"))
    run = f"olbench run {config} --out {folder}"
    timed = [f"{run} --timing exclusive"] if report.results.exclusive else []
    return [run, *timed, f"olbench report {folder} --format html --output {page}"]


register(Section("provenance", "Provenance", 250, parts, data=data, page=page))
