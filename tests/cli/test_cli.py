"""The command line answers at once, exits with the agreed codes and says what is wrong."""

import itertools

import click
import pytest
from click.testing import CliRunner

from olbench import UserError, __version__, make_algorithm
from olbench.algorithms import definitions, get_definition
from olbench.algorithms.algorithm import list_ways
from olbench.cli import cli
from tests.cases import for_each
from tests.refusals import refusal


def walk_commands(command, words=()):
    yield words
    context = click.Context(command)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from walk_commands(command.get_command(context, name), (*words, name))


def test_no_line_of_any_help_is_wider_than_a_terminal():
    pages = {
        words: CliRunner().invoke(cli, [*words, "--help"], terminal_width=80) for words in walk_commands(cli)
    }
    assert {("run",), ("data", "fetch")} <= pages.keys()
    wide = [line for page in pages.values() for line in page.output.splitlines() if len(line) > 80]
    assert wide == []
    without = [
        words for words, page in pages.items() if "Examples:" not in page.output and words[:1] != ("data",)
    ]
    assert without == []


def test_the_table_of_algorithms_has_ids_parameters_traits_and_papers(olbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    out = olbench("algorithms").stdout
    [line] = [line for line in out.splitlines() if line.startswith("scw1 ")]
    assert line.split() == ["scw1", "SCW-I", "second", "C=1,", "eta=0.75", "LCNA", "native",
                            "scw2012,", "eq.", "(4)", "and", "Proposition", "1"]  # fmt: skip
    assert sum(" second " in line or " first " in line for line in out.splitlines()) == 32


def test_one_algorithm_in_detail(here):
    out = " ".join(here.out("algorithms", "arow").split())
    for words in (
        "parameter r = 1, in (0, inf)",
        "searched over 0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16",
        "large margin, confidence, non-separable",
        "runs with covariance: full; form: covariance, root (the first is the default)",
        "or with covariance: full; kernel: linear, rbf, poly",
        "or with multiclass: native; covariance: diag; projection: kl, l2",
    ):
        assert words in out


@for_each("id", [each.id for each in definitions() if each.order == "second" and not each.is_own])
def test_an_algorithm_is_made_in_every_way_that_is_listed_and_in_no_other(id):
    listed = {
        frozenset({"covariance": way["covariance"][0], name: value}.items())
        for way in list_ways(get_definition(id))
        for name in way
        for value in way[name]
        if name != "covariance"
    }
    every = {"form": ["covariance", "root"], "kernel": ["linear", "rbf", "poly"]}
    every |= {"projection": ["kl", "l2", "exact"]}
    for covariance, (name, values) in itertools.product(("full", "diag"), every.items()):
        for value in values if (covariance, name) != ("full", "projection") else ():
            options = {"covariance": covariance, name: value}
            if frozenset(options.items()) in listed:
                make_algorithm(id, **options)
            else:
                refusal(make_algorithm, id, **options)


@for_each(
    ("words", "message"),
    [
        (["run"], "CONFIG|DATA"),
        (["run", "quick", "--job", "2"], "--jobs"),
        (["run", "quick", "--jobs", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_command_line_is_refused_in_the_words_of_click(words, message, here):
    code, out, err = here(*words)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]


def test_debug_shows_where_an_error_comes_from(here):
    with pytest.raises(UserError):
        here("--debug", "algorithms", "scw3")
    assert here.out("--version") == f"olbench, version {__version__}\n"
