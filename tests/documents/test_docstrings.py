"""The public API is documented, and the docstrings of the estimators have every parameter."""

import ast
import inspect
import re

import pytest

import olbench
import olbench.estimators
import olbench.plot
from olbench.estimators import ESTIMATORS
from olbench.plugins import paper_ids
from tests.cases import for_each


def described(estimator) -> dict[str, str]:
    """Return the parameters and defaults in the docstrings of an estimator and its bases."""
    own = [each for each in estimator.__mro__ if each.__module__.startswith("olbench")]
    text = "\n".join(inspect.getdoc(each) or "" for each in own)
    return dict(re.findall(r"^(\w+) : .*, default=(.*)$", text, re.MULTILINE))


@for_each("estimator", ESTIMATORS.values())
def test_the_docstrings_have_every_parameter(estimator):
    parameters, signature = described(estimator), inspect.signature(estimator).parameters
    assert parameters.keys() == signature.keys()
    for name, default in parameters.items():
        given = signature[name].default
        expected = pytest.approx(given, rel=1e-5) if isinstance(given, float) else given
        assert ast.literal_eval(default) == expected
    assert not any(id in inspect.getdoc(estimator) for id in paper_ids())


def describe_members(name, item):
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
