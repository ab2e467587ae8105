"""olbench data: list, fetch and verify data sets."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli import Actions
from olbench.cli.flags import format_flag, own_data
from olbench.cli.output import say, show_parts
from olbench.engine.display import can_redraw, make_bar
from olbench.errors import UserError, expand_home, is_file

if TYPE_CHECKING:
    from olbench.data.catalog import CatalogEntry
    from olbench.data.fetch import Progress

MIRROR = click.option(
    "--mirror", metavar="PLACE", help="Folder or http(s) address to look in first [default: OLBENCH_MIRROR]."
)


@click.group("data", cls=Actions)
def command() -> None:
    """List, fetch and verify data sets.

    \b
    Examples:
      olbench data list
      olbench data fetch svmguide3 splice
    """


@command.command("list")
@MIRROR
def show_list(mirror: str | None) -> None:
    """List the data sets: their shapes, and which are downloaded.

    \b
    Example:
      olbench data list
    """
    from olbench.data.catalog import catalog
    from olbench.report.table import COUNT, DETAIL, PAPER, Column, Format, Table, columns

    rows = []
    for entry in catalog().values():
        share, state = entry.labels[1] / entry.rows, _describe_state(entry, mirror)
        rows.append((entry.name, entry.rows, entry.features, share, state, entry.title))
    shown = (
        Column("name"),
        *columns("rows", "features", format=COUNT),
        Column("positive", Format(lambda share: f"{share:.1%}"), DETAIL),
        Column("downloaded"),
        Column("title", drop=PAPER),
    )
    show_parts(
        Table("", shown, rows),
        "Fetch missing data sets with `olbench data fetch NAME` or `olbench data fetch --all`.",
    )


def _describe_state(entry: "CatalogEntry", mirror: str | None) -> str:
    from olbench.data.fetch import downloads_folder, local_files
    from olbench.report.table import show_bytes

    if not entry.files:
        return "built in"
    files = local_files(entry, mirror)
    if files is None:
        return "no"
    size = show_bytes(sum(path.stat().st_size for path in files))
    if entry.folder and all(Path(entry.folder) in path.parents for path in files):
        return f"in its package, {size}"
    inside = all(downloads_folder() in path.parents for path in files)
    return f"yes, {size}" if inside else f"in the mirror, {size}"


@command.command("info")
@click.argument("name", metavar="NAME|FILE")
@format_flag("text", "json", help="json: the entry of the catalogue.")
@MIRROR
@own_data
def show_info(name: str, form: str, mirror: str | None, positive: tuple[str, ...], **reading: Any) -> None:
    """Describe the data set NAME, or your own FILE as it would be read with these options.

    \b
    Examples:
      olbench data info splice --format json
      olbench data info my.csv
      zcat my.csv.gz | olbench data info -
      olbench data info my.csv --label class --positive yes --missing mean
    """
    from olbench.data.catalog import catalog, find
    from olbench.data.compressed import is_pipe
    from olbench.data.fetch import fetch_command
    from olbench.report.table import Table, columns

    given = {key: value for key, value in reading.items() if value is not None}
    if name not in catalog() and (is_pipe(name) or is_file(expand_home(name))):
        if form == "json":
            raise UserError(f"--format json is for data sets of the catalogue, and {name} is a file")
        _describe_file(name, positive, given)
        return
    if given or positive:
        raise UserError(
            "these options are only allowed for your own files; the catalogue defines its data sets"
        )
    entry = find(name)
    if form == "json":
        click.echo(json.dumps(entry.plain(), indent=1, ensure_ascii=False))
        return
    state, origin = _describe_state(entry, mirror), entry.origin
    facts = {
        "rows": f"{entry.rows:,}",
        "features": f"{entry.features:,}",
        "labels": f"-1: {entry.labels[-1]:,}, +1: {entry.labels[1]:,}",
        "indices": f"start at {entry.first_index}" if entry.format == "libsvm" else "",
        "positive": _format_labels(entry.positive),
        "negative": _format_labels(entry.negative) or ("all others" if entry.positive else ""),
        "preprocess": ", then ".join(entry.preprocess),
        "documents": _format_text(entry),
        "split": f"given, the last {entry.test_rows:,} rows are for testing" if entry.split else "",
        "sample": "redrawn for every run; these are the facts of run 0" if entry.sample == "per-run" else "",
        "generator": ", ".join(f"{key} = {value}" for key, value in entry.generator.items()),
        "variant of": entry.variant_of,
        "files": ", ".join(entry.files),
        "page": origin["page"],
        "by hand": entry.by_hand,
        "upstream": ", ".join(entry.upstream),
        "mirror": "a folder with the files, plain or as .gz, .bz2 or .xz" if entry.files else "",
        "downloaded": state if state != "no" else f"no; get it with `{fetch_command([name])}`",
        "fingerprint": entry.fingerprint,
        "source": entry.source,
        "citation": origin["citation"],
        "version": origin["version"],
        "licence": origin["licence"],
        "note": entry.note,
    }
    rows = [(key, value) for key, value in facts.items() if value]
    show_parts(Table(f"{entry.name}: {entry.title}", columns("fact", "value"), rows))


def _describe_file(name: str, positive: tuple[str, ...], given: dict[str, Any]) -> None:
    from olbench.data.compressed import is_pipe
    from olbench.data.load import keep_pipe, load_dataset
    from olbench.data.look import look_at
    from olbench.data.spec import Reading

    path = keep_pipe(name, Reading(**given)) if is_pipe(name) else expand_home(name)
    for line in look_at(path, Reading(**given)).lines():
        say(line)
    try:
        data = load_dataset(path, list(positive) or None, **given)
    except UserError as error:
        if positive or given.keys() - {"label", "delimiter", "missing", "categorical"}:
            raise
        say(f"not read without further options: {error}")
        return
    for step in data.about.steps:
        say(step)
    rows, features = data.X.shape
    say(f"read as {rows:,} x {features:,}, {data.storage}, fingerprint {data.fingerprint}")


def _format_labels(labels: "tuple[float | str, ...] | None") -> str:
    return ", ".join(label if isinstance(label, str) else f"{label:g}" for label in labels or ())


def _format_text(entry: "CatalogEntry") -> str:
    if not entry.members:
        return ""
    labels = {1: " (+1)", -1: " (-1)", None: ""}
    members = ", ".join(f"{pattern}{labels[label]}" for pattern, label in entry.members.items())
    recipe = entry.text
    parts = [f"{entry.format} in {members}"]
    if recipe.headers is not None:
        parts.append(f"headers {', '.join(recipe.headers)}")
    parts += ["lower case"] * recipe.lower
    parts.append("words and pairs of words" if recipe.ngrams == 2 else "words")
    parts.append("binary" if recipe.values == "binary" else "counts")
    return "; ".join(parts)


@command.command("fetch", short_help="Fetch data sets, and verify them.")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every data set of the catalogue.")
@click.option("--config", "configs", multiple=True, type=click.Path(), help="The data sets of a config.")
@click.option("--force", is_flag=True, help="Fetch files again that are already downloaded.")
@MIRROR
def fetch_files(
    names: tuple[str, ...], everything: bool, configs: tuple[str, ...], force: bool, mirror: str | None
) -> None:
    """Fetch the data sets NAMES from the mirror or from upstream, and verify them.

    \b
    Examples:
      olbench data fetch svmguide3 splice
      olbench data fetch --config scw
      olbench data fetch --all --mirror ~/mirror
    """
    from olbench.data.catalog import catalog, find
    from olbench.data.fetch import mirror_place
    from olbench.protocols.reading import read_config
    from olbench.records.shipped import find_config

    mirror_place(mirror)
    read = (spec for config in configs for spec in read_config(find_config(config)).datasets)
    wanted = [*names, *(spec.name for spec in read if not spec.path)]
    if everything:
        wanted += list(catalog())
    if not wanted and not configs:
        raise UserError("name the data sets, or use --all or --config; `olbench data list` shows them")
    if not wanted:
        say(f"{', '.join(configs)}: only local files, nothing to fetch")
    entries = [find(name) for name in dict.fromkeys(wanted)]
    failures = [reason for entry in entries if (reason := _fetch_one(entry, mirror, force))]
    if failures:
        for reason in failures[:-1]:
            say(f"olbench: {reason}", err=True)
        raise UserError(failures[-1])


def _fetch_one(entry: "CatalogEntry", mirror: str | None, force: bool) -> str:
    from olbench.data.fetch import fetch, local_files
    from olbench.report.table import show_bytes

    if not entry.files:
        say(f"{entry.name}: built in, nothing to fetch")
        return ""
    try:
        with _progress() as progress:
            files = fetch(entry, mirror, force, progress)
    except UserError as error:
        return str(error)
    for path in local_files(entry, mirror) or files:
        say(f"{entry.name}: {path.name}, {show_bytes(path.stat().st_size)}")
    return ""


@contextmanager
def _progress() -> "Iterator[Progress | None]":
    if not can_redraw():
        yield None
        return
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), make_bar(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(name: str, received: int, expected: int) -> None:
            task = tasks[name] if name in tasks else tasks.setdefault(name, bars.add_task(name, total=None))
            bars.update(task, completed=received, total=expected or None)

        yield show


@command.command("verify", short_help="Compare data sets with the catalogue.")
@click.argument("names", nargs=-1)
@MIRROR
def verify(names: tuple[str, ...], mirror: str | None) -> None:
    """Read the data sets NAMES again and compare them with the catalogue.

    Without NAMES, it verifies every downloaded data set, except generated corpora, which take up to a
    gigabyte. The exit code is 1 if any data set differs.

    \b
    Examples:
      olbench data verify
      olbench data verify svmguide3
    """
    from olbench.data.catalog import catalog, find
    from olbench.data.entries import problems, read_examples
    from olbench.data.fetch import fetch_command, local_files
    from olbench.data.formats import find_format

    present = [entry for entry in catalog().values() if not find_format(entry.format).comes_in_blocks]
    entries = [find(name) for name in names] or present
    wrong, checked, absent = 0, 0, []
    for entry in entries:
        files = local_files(entry, mirror)
        if files is None:
            absent.append(entry.name)
            continue
        try:
            found = problems(entry, read_examples(entry, files))
        except UserError as error:
            found = [str(error)]
        checked += 1
        wrong += bool(found)
        say(f"{entry.name}: {'DIFFERS: ' if found else 'agrees with the catalogue'}{'; '.join(found)}")
    if absent and names:
        raise UserError(f"{', '.join(absent)}: not downloaded; get it with `{fetch_command(absent)}`")
    if absent:
        say(f"not downloaded, not checked: {', '.join(absent)}")
    say(f"{checked} checked, {wrong} differ")
    if wrong:
        sys.exit(1)
