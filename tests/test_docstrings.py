"""The public API is documented, and the docstrings of the estimators say what the estimators have."""

import ast
import inspect
import re

import numpy as np
import pytest

import olbench
import olbench.estimators
import olbench.plot
from olbench.analysis.published import load_paper
from olbench.cli import cli
from olbench.estimators import ESTIMATORS
from olbench.learners.docstrings import PAPERS
from olbench.plugins import paper_ids
from tests.cases import for_each

SECTIONS = ("Parameters", "Attributes", "References", "Examples")


def section(text: str, title: str) -> str:
    parts = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


@for_each("estimator", ESTIMATORS.values())
def test_a_docstring_has_every_parameter_and_attribute(estimator):
    text = inspect.getdoc(estimator)
    assert re.findall(r"^(\w+)\n-+$", text, flags=re.MULTILINE) == list(SECTIONS)
    parameters = re.findall(r"^(\w+) : .*, default=(.*)$", section(text, "Parameters"), flags=re.MULTILINE)
    signature = inspect.signature(estimator).parameters
    assert {name for name, _ in parameters} == set(signature)
    for name, default in parameters:
        given = signature[name].default
        expected = pytest.approx(given, rel=1e-5) if isinstance(given, float) else given
        assert ast.literal_eval(default) == expected
    model = estimator().fit(np.array([[1.0, 0.0], [0.0, 1.0]] * 5), [0, 1] * 5)
    for name in re.findall(r"^(\w+) : ", section(text, "Attributes"), flags=re.MULTILINE):
        assert hasattr(model, name)
    assert not any(id in text for id in paper_ids())
    assert ("not calibrated" in text) == hasattr(model, "predict_proba")


def test_references_are_those_of_the_papers():
    for id in paper_ids():
        [full] = [full for name, full in PAPERS.items() if re.search(rf"\b{id}\b", name)]
        paper = load_paper(id)
        authors, _, rest = paper.citation.partition(", ")
        assert full.startswith(authors)
        assert paper.title.casefold()[:20] in full.casefold()
        assert all(word in full for word in rest.partition(", pages")[0].split()[-2:])


def describe_members(name, item):
    """Yield name and docstring of a public object and, if it is a class, of its public members."""
    yield name, item.__doc__
    if inspect.isclass(item):
        for attribute, member in inspect.getmembers(
            item, lambda each: callable(each) or isinstance(each, property)
        ):
            function = member.fget if isinstance(member, property) else member
            if not attribute.startswith("_") and getattr(function, "__module__", "").startswith("olbench"):
                yield f"{name}.{attribute}", inspect.getdoc(member)


def test_what_users_import_is_documented():
    described = dict(
        pair
        for module in (olbench, olbench.estimators, olbench.plot)
        for name in module.__all__
        for pair in describe_members(f"{module.__name__}.{name}", getattr(module, name))
    )
    assert [name for name, text in described.items() if not text] == []


def test_every_verb_has_help():
    context = cli.make_context("olbench", ["run"], resilient_parsing=True)
    assert [verb for verb in cli.list_commands(context) if not cli.get_command(context, verb).help] == []
