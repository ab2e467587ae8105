"""olbench init: a commented config to start from; for your own data, it comes from a look at the file."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench import FIRST_ALGORITHMS
from olbench.cli.output import say, suggest_file
from olbench.errors import UserError, escape_controls
from olbench.files import write_text

if TYPE_CHECKING:
    from olbench.algorithms.definition import Definition
    from olbench.algorithms.spec import AlgorithmSpec
    from olbench.data.look import FileSummary

PERMUTATIONS = 20
#: The config that is written without a data file.
EXAMPLE = Path(__file__).with_name("experiment.yaml")
DATA_TEMPLATE = """\
# An experiment on {file}, from a look at it by `olbench init`. Run it with `olbench run {config}`.
{look}
{protocol}

datasets:
  - path: {path}
{keys}

# Ids from `olbench algorithms`. Parameters that are not given are tuned over the grids of the papers.
algorithms: [{algorithms}]
covariance: {covariance:16}# full, or diag for data with very many features
{tuning}
"""
ONLINE = (
    """\
protocol: online          # one pass per permutation; a mistake is counted before learning
{later}seed: 2012                # permutation p of a data set depends on this seed, its name and p
permutations: {permutations}""",
    "# {why}; a grid goes on while a value on its edge is the best.\n"
    "tuning: {{search: grid, {orders}, ties: last, extend: true}}",
)
#: By whether each permutation is tuned separately.
ORDERS = {
    True: ("per: permutation, permutations: 1", "Each permutation is tuned on an order of its own"),
    False: ("permutations: 3", "Tuned on three orders that are not reported"),
}
STREAM = (
    """\
protocol: stream          # the rows once, in the order of the file; each is predicted before it is learnt
delay: 0                  # rows that are predicted before a label is learnt; not together with arrival
window: 1000              # how many rows a windowed curve covers""",
    "# Tuned on the first tenth, which is not scored; a grid goes on while a value on its edge is the best.\n"
    "tuning: {{search: grid, prefix: 0.1, ties: last, extend: true}}",
)
LATER = """\
# protocol: stream      # for a file sorted by {}: leave out permutations, name the column (time:),
#                       # and take scale: running and missing: zero, which use no later row
"""
COMMENTS = {
    "label": "the heading or the number of the label column",
    "time": "the column with the time of each row, not a feature; add arrival: NAME if labels come later",
    "delimiter": "what separates the columns",
    "missing": "missing values: drop (the rows), zero, or mean (of the column, over all rows)",
    "categorical": "columns of text: onehot (indicators) or drop",
    "columns": "one by one: number, onehot, ordinal, date or drop; the others as above",
    "scale": "standard, minmax: by the features of all rows; unit: row by row; running: by the rows so far",
    "bias": "a feature that is always 1: the learners have no intercept",
}
#: The values of keys that need no quotes.
PLAIN_WORDS = ("drop", "zero", "mean", "onehot", "unit", "minmax", "standard", "running", "date")


@click.command("init")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--label", metavar="NAME", default="", help="Heading or number of the label column of FILE.")
@click.option("--positive", multiple=True, metavar="LABEL", help="A label that counts as +1.")
@click.option("--delimiter", metavar="CHAR", default="", help="Separator of columns [default: detected].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of configs and write nothing.")
def command(
    file: Path | None, label: str, positive: tuple[str, ...], delimiter: str, force: bool, schema: bool
) -> None:
    """Write a commented config: to FILE if its name ends in .yaml, or for your own data FILE.

    Without FILE, it writes experiment.yaml.

    Editors complete and check the config with olbench.schema.json, which is written to the same folder.

    For data, it inspects the file (shape, labels, missing values, text, scale), writes NAME.yaml to the
    current folder and prints the next commands.

    \b
    Examples:
      olbench init my.yaml && olbench run my.yaml
      olbench init my.csv && olbench run my.yaml && olbench report results/my
      olbench init --schema > olbench.schema.json
    """
    from olbench.data.compressed import base_name
    from olbench.protocols.schema import FILE, make_schema

    if schema:
        click.echo(json.dumps(make_schema(), indent=1))
        return
    file = file or Path("experiment.yaml")
    if file.suffix in (".yaml", ".yml"):
        if label or positive or delimiter:
            raise UserError("--label, --positive and --delimiter go with a data file; leave them out")
        text = EXAMPLE.read_text(encoding="utf-8").replace(EXAMPLE.name, str(file))
        _write(file, text, force)
        say(f"{file} written, and {file.with_name(FILE)} for editors; now `olbench run {file}`")
        return
    if not file.is_file():
        hint = suggest_file(file)
        raise UserError(f"{file}: there is no such data file{hint}; the name of a config must end in .yaml")
    config = Path(Path(base_name(file.name)).stem + ".yaml")
    text, look = make_config(file, config, label, positive, delimiter)
    _write(config, text, force)
    for line in look.lines():
        say(f"{file}: {line}")
    if look.is_sorted:
        say(f"the rows are in the order of {look.time}, so {config} runs them as a stream")
    say(f"{config} written, and {config.with_name(FILE)} for editors; check it, then")
    name, folder = shlex.quote(str(config)), shlex.quote(f"results/{config.stem}")
    click.echo(f"  olbench run {name} --dry-run   # the plan, with a time estimate")
    click.echo(f"  olbench run {name}")
    click.echo(f"  olbench report {folder}")


def make_config(
    file: Path, config: Path, label: str = "", positive: tuple[str, ...] = (), delimiter: str = ""
) -> "tuple[str, FileSummary]":
    from olbench.algorithms import get_definition
    from olbench.data.labels import read_label
    from olbench.data.look import look_at
    from olbench.data.spec import Reading
    from olbench.protocols.online import choose_tuning

    look = look_at(file, Reading(label=label, delimiter=delimiter), tuple(map(read_label, positive)))
    keys = "\n".join(f"    {line}" for line in _keys(look))
    names = escape_controls(file.name), escape_controls(str(config))
    protocol, tuning = STREAM if look.is_sorted else ONLINE
    later = LATER.format(escape_controls(look.time)) if look.time else ""
    rows = sum(size for _, size in look.labels)
    specs = [_spec_of(get_definition(id), look.covariance) for id in FIRST_ALGORITHMS]
    orders, why = ORDERS[choose_tuning(specs, rows, look.features, PERMUTATIONS).is_repeated]
    tuning = tuning.format(orders=orders, why=why)
    algorithms, measures = ", ".join(FIRST_ALGORITHMS), ""
    if look.positive is None:
        algorithms = ", ".join(f"{{id: {id}, multiclass: native}}" for id in FIRST_ALGORITHMS)
    if look.measures:
        why = f"the rarer class has {look.rarest:.1%} of the rows, so accuracy says little"
        measures = f"\nmeasures: [{', '.join(look.measures)}]  # {why}"
    text = DATA_TEMPLATE.format(
        file=names[0], config=names[1], look="\n".join(f"# {line}" for line in look.lines()),
        path=_show(str(file)), keys=keys, covariance=look.covariance, algorithms=algorithms,
        protocol=protocol.format(later=later, permutations=PERMUTATIONS) + measures, tuning=tuning,
    )  # fmt: skip
    return text, look


def _spec_of(definition: "Definition", covariance: str) -> "AlgorithmSpec":
    from olbench.algorithms.spec import AlgorithmSpec

    options = {"covariance": covariance} if definition.order == "second" else {}
    return AlgorithmSpec(definition.id, grid=definition.grid, options=options)


def _keys(look: "FileSummary") -> list[str]:
    shown = f"positive: {_show(list(look.positive) if isinstance(look.positive, tuple) else look.positive)}"
    why = "the label that is +1; the others are -1"
    if look.positive is None:
        shown, why = "labels: all", "every label is a class; or positive: LABEL for one against the others"
    elif len(look.labels) > 2 and not isinstance(look.positive, tuple):
        why = "the most frequent label is +1, all others are -1: choose one; a stream has two classes"
    given = look.reading.plain()
    columns = given.pop("columns", [])[:-1]  # the last one leaves the others as they are
    lines = [f"{key}: {_show(value)}" for key, value in given.items()]
    comments = [COMMENTS[key] for key in given]
    place = 1 if "label" in given else 0
    lines.insert(place, shown)
    comments.insert(place, why)
    width = max(map(len, lines))
    lines = [f"{line:{width}}  # {comment}" for line, comment in zip(lines, comments, strict=True)]
    if columns:
        lines.append(f"{'columns:':{width}}  # {COMMENTS['columns']}")
    for column in columns:
        rest = {key: value for key, value in column.items() if key != "name"}
        shown = _show(rest if len(rest) > 1 else rest["encode"])
        lines.append(f"  {_show(str(column['name']))}: {shown}")
    return lines


def _show(value: Any) -> str:
    """Return a value as YAML: text in quotes, because YAML reads yes and no as truth values."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str) and value in PLAIN_WORDS:
        return value
    return escape_controls(json.dumps(value, ensure_ascii=False))


def _write(file: Path, text: str, force: bool) -> None:
    from olbench.protocols.schema import FILE, LINE, make_schema

    if file.exists() and not force:
        raise UserError(f"{file} already exists; choose another name, or overwrite it with --force")
    write_text(file, LINE + text)
    write_text(file.with_name(FILE), json.dumps(make_schema(), separators=(",", ":")) + "\n")
