"""What the site shows of the code: config keys, commands, algorithms, data sets, measures and the API.

A page has comments such as `<!-- from the code: commands -->`; the build puts the text in their place. So
nothing that the code knows is written down twice, and the pages can be read without the site as well.
"""

import inspect
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import olbench

ROOT = Path(__file__).resolve().parent.parent
#: All methods of a class but those that scikit-learn makes for its metadata routing.
MEMBERS = [":members:", ":exclude-members: set_fit_request, set_partial_fit_request, set_score_request"]
MARK = re.compile(r"<!-- from the code: ([a-z]+)(?: ([\w./-]+))? -->")
#: The pages of the site by chapter; the build warns about a page that is not listed, and warnings are errors.
CHAPTERS = {
    "Start": ["First run <self>", "data", "own-algorithm", "notebooks/how-cw-thinks"],
    "How to": ["streams", "multiclass", "report", "ci", "cluster", "share", "conform"],
    "Papers": [
        "papers/evidence", "SCW, ICML 2012 <papers/scw2012>", "CW, NIPS 2008 <papers/cw2008>",
        "CW for text, JMLR 2012 <papers/cw2012>", "Adviceptron, 2010 <papers/adviceptron2010>",
        "LIBOL manual, 2013 <papers/libol2013>",
    ],
    "Reference": [
        "reference/commands", "reference/config", "reference/datasets", "reference/algorithms", "python",
    ],
    "Inside": ["architecture", "kernels", "correctness"],
}  # fmt: skip
#: What each measure is; a measure without an entry fails the build.
MEASURES = {
    "mistake_rate": "share of wrong predictions",
    "accuracy": "share of right predictions",
    "balanced_accuracy": "mean over the classes of the share that is predicted right",
    "sensitivity": "share of the positive examples that are recognised",
    "specificity": "share of the negative examples that are recognised",
    "precision": "share of the positive predictions that are right",
    "f1": "harmonic mean of precision and sensitivity",
    "g_mean": "geometric mean of sensitivity and specificity",
    "kappa": "Cohen's kappa: 0 for chance, 1 for no mistake",
    "mcc": "Matthews' correlation coefficient",
    "auc": "how often a positive example has a larger margin than a negative one; ties count half",
    "hinge_loss": "mean of (1 - y f)+",
    "squared_loss": "mean of (1 - y f)²",
    "log_loss": "of the probability Φ(y f / √v) of a learner with a variance",
    "nonzeros": "weights that are not zero after the pass; not for Python objects",
    "macro_f1": "mean F1 of the classes, with `labels: all`",
    "kappa_m": "kappa against the majority so far; only for streams",
    "kappa_temporal": "kappa against repeating the last label; only for streams",
}


def fill(text: str, page: str) -> str:
    """Return the text of a page with every marked place filled."""
    return MARK.sub(lambda mark: MAKERS[mark[1]](mark[2] or "", page), text)


def make_contents(_: str, page: str) -> str:
    """Return the navigation of the site."""
    blocks = [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {chapter}", "", *names, "```"])
        for chapter, names in CHAPTERS.items()
    ]
    return "\n\n".join(blocks)


def include_file(name: str, page: str) -> str:
    """Return a file of the repository without its title, its links turned to the pages of the site."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return _turn_links(text.partition("\n")[2], page)


def _turn_links(text: str, page: str) -> str:
    """Turn links that are relative to the root into links that are relative to a page of the site."""
    folder = posixpath.dirname(page)

    def turn(link: re.Match[str]) -> str:
        if "://" in link[1]:
            return link[0]
        return f"]({posixpath.relpath(link[1], posixpath.join('docs', folder))}"

    return re.sub(r"\]\(([^)#]+)", turn, text)


# --- config keys ---


def schema_text() -> str:
    """Return the JSON schema of configs as text."""
    from olbench.protocols.schema import make_schema

    return f"{json.dumps(make_schema(), indent=2, ensure_ascii=False)}\n"


def describe_config(_: str, page: str) -> str:
    """Return the tables of all keys: those that all configs share, and those of each protocol."""
    from olbench.protocols import protocols
    from olbench.protocols.schema import make_schema

    schema = make_schema()
    dataset = next(
        each for each in schema["properties"]["datasets"]["items"]["anyOf"] if "properties" in each
    )
    sections = [
        ("Keys of every config", "", schema["properties"]),
        (
            "An entry of `datasets`",
            "A name, a path, or a mapping with these keys. `path` is relative to the config, and `name` is "
            "then what the record calls the file. `positive` and `negative` are the labels that become +1 "
            "and -1.",
            dataset["properties"],
        ),
    ]
    rules = {each["if"]["properties"]["protocol"]["const"]: each["then"] for each in schema["allOf"]}
    online = rules["online"]["properties"]["algorithms"]["items"]["anyOf"][1]["properties"]
    own = {key.name for protocol in protocols() for key in protocol.experiment.entry_keys}
    shared = {name: about for name, about in online.items() if name not in own}
    sections.append(("An entry of `algorithms`", "An id, or a mapping with these keys.", shared))
    lines = []
    for title, text, keys in sections:
        lines += [f"## {title}", "", *([text, ""] if text else []), *_key_table(keys), ""]
    for protocol in protocols():
        properties = rules[protocol.id]["properties"]
        lines += [f"## Protocol `{protocol.id}`", "", _first_paragraph(type(protocol).__doc__), ""]
        keys = {name: about for name, about in properties.items() if name not in ("algorithms", "tuning")}
        lines += [*_key_table(keys), ""]
        entries = {key.name: {"description": key.doc} for key in protocol.experiment.entry_keys}
        if entries:
            lines += ["In an entry of `algorithms`:", "", *_key_table(entries), ""]
        lines += ["In `tuning`:", "", *_key_table(properties["tuning"]["properties"]), ""]
    return "\n".join(lines)


def _key_table(keys: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    rows = [
        (f"`{name}`", _describe_values(about), _show(about.get("default")), about.get("description", ""))
        for name, about in keys.items()
    ]
    return table(("key", "takes", "default", "meaning"), rows)


def _describe_values(about: Mapping[str, Any]) -> str:
    """Return in words what a key takes, as far as the schema says."""
    if "enum" in about:
        return ", ".join(_show(value) for value in about["enum"])
    if "const" in about:
        return _show(about["const"])
    if "anyOf" in about and "type" not in about:
        return " or ".join(dict.fromkeys(filter(None, map(_describe_values, about["anyOf"]))))
    kind = about.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_describe_values({**about, "type": each}) for each in kind)
    if kind == "array":
        items = _describe_values(about.get("items", {}))
        return f"a list, each {items}" if items else "a list"
    words = {"integer": "whole number", "number": "number", "string": "text", "object": "mapping"}
    words["boolean"] = "true or false"
    low = f" from {about['minimum']:g}" if "minimum" in about else ""
    return f"{words.get(kind, '')}{low}"


def _show(value: Any) -> str:
    return "" if value is None else f"`{json.dumps(value, ensure_ascii=False).strip(chr(34))}`"


# --- commands ---


def describe_commands(_: str, page: str) -> str:
    """Return usage, description, options and examples of every command."""
    from olbench.cli import cli

    return "\n".join(_describe_command(cli, "olbench", None, 2))


def _describe_command(
    command: click.Command, name: str, parent: click.Context | None, level: int
) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    path = context.command_path
    yield from (f"{'#' * level} {path}", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{path} {usage}", "```", "", *_help_text(command.help or ""), "")
    rows = []
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Argument):  # the usage names them
            continue
        record = parameter.get_help_record(context)
        if record and not (parent and "--help" in record[0]):
            rows.append((f"`{record[0]}`", record[1]))
    if rows:
        yield from (*table(("option", "meaning"), rows), "")
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            each = command.get_command(context, verb)
            if each is not None and not each.hidden:
                yield from _describe_command(each, verb, context, level if parent is None else level + 1)


def _help_text(text: str) -> Iterator[str]:
    """Turn click's help into Markdown: what it must not wrap becomes a block."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if not paragraph.startswith("\b"):
            yield from (" ".join(paragraph.split()), "")
            continue
        heading, *lines = paragraph.removeprefix("\b").strip("\n").splitlines()
        if not heading.endswith(":"):
            heading, lines = "", [heading, *lines]
        yield from (heading, "", "```text", *(line.removeprefix("  ") for line in lines), "```", "")


# --- algorithms and data sets ---


def describe_algorithms(_: str, page: str) -> str:
    """Return an overview of the algorithms that ship, and each with its parameters, grids and source."""
    from olbench.algorithms import definitions

    shipped = [each for each in definitions() if each.module.startswith("olbench.")]
    rows = [
        (f"[{each.id}](#{each.id})", each.title, each.order, _parameter_names(each), each.source)
        for each in shipped
    ]
    lines = [*table(("id", "name", "order", "parameters", "source"), rows), ""]
    for each in shipped:
        lines += [
            f"### {each.id}",
            "",
            f"**{each.title}** ({each.order} order). {_first_paragraph(each.doc)}",
            "",
        ]
        lines += [f"Source: {each.source}.", ""]
        if each.parameters:
            rows = [
                (
                    f"`{p.name}`",
                    f"instead of `{p.instead_of}`" if p.instead_of else _show_number(p.default),
                    f"`{p.interval}`", ", ".join(_show_number(value) for value in p.grid), p.doc,
                )
                for p in each.parameters
            ]  # fmt: skip
            lines += [*table(("parameter", "default", "values", "grid", "meaning"), rows), ""]
        if each.order == "second":
            kinds = f"full or diagonal ({', '.join(each.projections)})" if each.diagonal else "full"
            lines += [f"Covariance: {kinds}.", ""]
    return "\n".join(lines)


def _parameter_names(definition: Any) -> str:
    own = (p for p in definition.parameters if not p.instead_of)
    return ", ".join(f"{p.name}={_show_number(p.default)}" for p in own)


def _show_number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def describe_datasets(_: str, page: str) -> str:
    """Return an overview of the catalogue, and each data set with its sources and notes."""
    from olbench.data.catalog import catalog

    rows = [
        (f"[{each.name}](#{each.name})", each.title, f"{each.rows:,}", f"{each.features:,}", _where(each))
        for each in catalog().values()
    ]
    headings = ("name", "description", "rows", "features", "source")
    lines = ["## List", "", *table(headings, rows, align="llrrl"), ""]
    for each in catalog().values():
        lines += [f"### {each.name}", "", f"**{each.title}**, {each.rows:,} × {each.features:,}.", ""]
        labels = ", ".join(f"{count:,} of {sign:+d}" for sign, count in sorted(each.labels.items()))
        facts = {
            "labels": labels,
            "source": each.source,
            "citation": each.citation,
            "licence": each.licence,
            "page": f"<{each.page}>" if each.page else "",
            "files": ", ".join(f"`{name}`" for name in each.files),
            "by hand": each.by_hand,
            "steps": ", ".join(f"`{step}`" for step in each.preprocess),
            "variant of": f"[{each.variant_of}](#{each.variant_of})" if each.variant_of else "",
            "fingerprint": f"`{each.fingerprint}`" if each.fingerprint else "",
        }
        lines += [f"- {name}: {value}" for name, value in facts.items() if value]
        lines += ["", " ".join(each.note.split()), ""]
    return "\n".join(lines)


def _where(entry: Any) -> str:
    if entry.files:
        return "`olbench data fetch`"
    return "scikit-learn" if entry.bundled else "generated"


# --- measures ---


def describe_measures(_: str, page: str) -> str:
    """Return the measures that a config can ask for."""
    from olbench.protocols.measuring import MEASURES as ONLINE
    from olbench.protocols.stream import STREAM_MEASURES

    quantities = {**ONLINE, **STREAM_MEASURES}
    rows = [(f"`{name}`", MEASURES[name], each.better or "") for name, each in quantities.items()]
    return "\n".join(table(("measure", "meaning", "better"), rows))


# --- the API ---


def describe_api(_: str, page: str) -> str:
    """Return directives that describe what `olbench` exports, from the docstrings."""
    exported = {name: getattr(olbench, name) for name in olbench.__all__}
    functions = [name for name, each in exported.items() if inspect.isfunction(each)]
    classes = [name for name, each in exported.items() if inspect.isclass(each)]
    modules = [name for name, each in exported.items() if inspect.ismodule(each)]
    lines = ["## Functions", "", *_directives("autofunction", (f"olbench.{name}" for name in functions))]
    for name in modules:
        inner = [each for each, _ in _members(exported[name], inspect.isfunction)]
        lines += [
            f"## olbench.{name}",
            "",
            *_directives("autofunction", (f"olbench.{name}.{i}" for i in inner)),
        ]
    lines += [
        "## Classes",
        "",
        *_directives("autoclass", (f"olbench.{name}" for name in classes), [":members:"]),
    ]
    return "\n".join(lines)


def describe_estimators(_: str, page: str) -> str:
    """Return directives that describe the scikit-learn estimators."""
    from olbench import estimators

    bases = [estimators.OnlineClassifier, estimators.SecondOrderClassifier]
    own = [name for name, each in _members(estimators, inspect.isclass) if issubclass(each, bases[0])]
    base_names = [each.__name__ for each in bases]
    names = [name for name in own if name not in base_names]
    lines = _directives("autoclass", (f"olbench.estimators.{name}" for name in base_names), MEMBERS)
    lines += _directives("autoclass", (f"olbench.estimators.{name}" for name in names))
    return "\n".join(lines)


def _members(module: Any, kind: Any) -> list[tuple[str, Any]]:
    """Return the public members that a module defines, in their order."""
    found = [(name, each) for name, each in vars(module).items() if kind(each) and not name.startswith("_")]
    return [(name, each) for name, each in found if each.__module__.startswith(module.__name__)]


def _directives(directive: str, names: Iterable[str], options: Sequence[str] = ()) -> list[str]:
    lines = []
    for name in names:
        lines += [
            "```{eval-rst}",
            f".. {directive}:: {name}",
            *(f"   {option}" for option in options),
            "```",
            "",
        ]
    return lines


# --- Markdown ---


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> Iterator[str]:
    """Yield the lines of a table; `align` has an l or r for each column."""
    marks = {"l": ":--", "r": "--:"}
    yield f"| {' | '.join(headings)} |"
    yield f"| {' | '.join(marks[each] for each in align or 'l' * len(headings))} |"
    for row in rows:
        yield f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in row)} |"


def _first_paragraph(text: str | None) -> str:
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


MAKERS = {
    "algorithms": describe_algorithms,
    "api": describe_api,
    "commands": describe_commands,
    "config": describe_config,
    "contents": make_contents,
    "datasets": describe_datasets,
    "estimators": describe_estimators,
    "file": include_file,
    "measures": describe_measures,
}
