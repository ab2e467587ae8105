"""Facts about the run: algorithms, data sets, and provenance."""

import json
import math
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from olbench.algorithms import definitions, title_of
from olbench.algorithms.definition import TRAITS
from olbench.data.catalog import catalog
from olbench.errors import count, plural, shorten
from olbench.records.run_file import RunFile
from olbench.records.seeds import STREAMS
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Table, columns
from olbench.report.tables import table


@table("Algorithms", 230)
def algorithms(report: Report) -> Table:
    known, rows = {definition.id: definition for definition in definitions()}, []
    for id in dict.fromkeys(entry.algorithm for entry in report.results.entries):
        definition = known.get(id)
        traits = definition.traits if definition else None
        marks = [getattr(traits, trait, math.nan) for trait in TRAITS]
        rows.append((id, title_of(id), *marks, (definition and definition.source) or "the user's own"))
    where = report.paper.traits_where if report.paper else ""
    shown = (*columns("algorithm", "name"), *columns(*TRAITS.values(), format=t.MARK))
    return Table(f"{where}: traits" if where else "Traits", (*shown, Column("source", drop=t.DETAIL)), rows)


@table("Data", 240)
def datasets(report: Report) -> Table:
    rows = []
    for name, facts in report.results.run.data.items():
        if report.whole is not None and name not in report.results.datasets:
            continue
        entry = catalog().get(name.partition("[")[0])
        source = entry.source if entry else "the user's file"
        steps = (", ".join(entry.preprocess) if entry else "; ".join(facts.prepared)) or "none"
        share = facts.majority / facts.rows if facts.majority and facts.rows else None
        in_paper = ""
        if report.attempt and name in report.attempt.paper.shapes:
            in_paper = report.attempt.find_other_size(name) or "the same size"
        size = (facts.rows, facts.features, share, in_paper)
        rows.append((name, *size, source, steps, facts.fingerprint[:12]))
    where = report.paper.shapes_where if report.paper else ""
    shown = (
        Column("data set"),
        *columns("examples", "features", format=t.COUNT),
        Column("largest class", t.Format(lambda share: f"{share:.1%}"), t.DETAIL),
        Column("in the paper", drop=t.DETAIL if report.paper else t.HIDDEN),
        *columns("source", "preprocessing", drop=t.DETAIL),
        Column("fingerprint", drop=t.COST),
    )
    return Table(f"{where}: data sets" if where else "Data sets", shown, rows)


def machine_text(run: RunFile) -> str:
    cores = run.machine.get("cores")
    parts = (run.machine.get("processor"), cores and count(cores, "core"), run.machine.get("system"))
    return ", ".join(str(part) for part in parts if part) or "unknown machine"


def commit_text(run: RunFile) -> str:
    return f"{run.commit or 'unknown'}{', with uncommitted changes' if run.dirty else ''}"


def run_data(report: Report) -> Mapping[str, Any]:
    content = report.results.run.plain() | {"config": report.results.config.plain()}
    names = ("config", "data", "seeds", "versions", "commit", "dirty", "machine", "start", "end")
    return {"run": {name: content[name] for name in names}}


@table("Provenance", 250, data=run_data)
def provenance(report: Report) -> Table:
    run, name = report.results.run, report.results.name
    again = shlex.join(("olbench", "run", f"{name}.yaml", "--out", f"results/{name}"))
    facts = {
        "commit": commit_text(run),
        "started": run.start,
        "ended": run.end or "not finished",
        "machine": machine_text(run),
        "protocol": ", ".join(filter(None, (report.protocol.id, changed_settings(report)))),
        "seed": f"{report.results.config.seed}, streams {', '.join(STREAMS)}",
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
        "during the run": "; ".join(run.deaths),
        "to run it again": f"{again}, where {name}.yaml is the config to download from the HTML page",
    }
    return Table("Provenance", columns("fact", "value"), [pair for pair in facts.items() if pair[1]])


def changed_settings(report: Report) -> str:
    """Return the settings that differ from the defaults of the protocol, except the number of trials."""
    usual, own = type(report.protocol).experiment.own, report.protocol.experiment.own.items()
    most = max((entry.planned for entry in report.results.entries), default=0)
    trials = plural(report.protocol.numbered), most
    changed = {name: each for name, each in own if each != usual[name] and (name, each) != trials}
    return shorten(json.dumps(changed, ensure_ascii=False).replace('"', "")[1:-1], 300)


def config_yaml(report: Report) -> str:
    plain = json.loads(json.dumps(report.results.config.plain()))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
