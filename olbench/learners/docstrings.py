"""Docstrings of the estimators in scikit-learn's form, made from the definitions of their algorithms."""

import re
from collections.abc import Iterable
from dataclasses import fields
from textwrap import fill
from typing import Any

from olbench.algorithms.definition import Definition, Parameter

#: Columns of a docstring.
WIDTH = 100
#: What the sources of the definitions call the papers.
PAPERS = {
    "Kunapuli et al., ECML 2010 (adviceptron2010)": (
        "Kunapuli, Bennett, Shabbeer, Maclin and Shavlik, Online knowledge-based support vector machines, "
        "ECML 2010"
    ),
    "cw2008": "Crammer, Dredze and Pereira, Exact convex confidence-weighted learning, NIPS 2008",
    "cw2012": (
        "Crammer, Dredze and Pereira, Confidence-weighted linear classification for text categorization, "
        "JMLR 13 (2012)"
    ),
    "libol2013": "Hoi, Wang and Zhao, LIBOL: a library for online learning algorithms, version 0.3.0, 2013",
    "scw2012": "Wang, Zhao and Hoi, Exact soft confidence-weighted learning, ICML 2012",
}
#: The parameters that several estimators share: type and meaning.
SHARED = {
    "epochs": ("int", "Number of passes over the data in `fit`."),
    "shuffle": ("bool", "Whether each pass uses a new random order."),
    "random_state": ("int, RandomState instance or None", "Seed of these orders."),
    "fit_intercept": (
        "bool",
        "Whether to learn a bias, as the weight of an additional feature that is always one.",
    ),
    "multiclass": (
        "{'one-vs-rest', 'native'}",
        "More than two classes: one learner per class, or one learner of all classes, where an algorithm has "
        "it. Two classes have one binary learner either way.",
    ),
    "allocation": (
        "{'max', 'uniform', 'prop'}",
        "Who loses what the true class gains, with multiclass='native': the highest rival, all that score as "
        "high as the true class equally, or in proportion to their lead.",
    ),
    "covariance": (
        "{'full', 'diag', 'block', 'shared'} or None",
        "A d x d covariance, or one variance per feature. With multiclass='native', also one d x d "
        "covariance per class ('block') or for all classes ('shared'). None for 'full' or, natively, "
        "'block'.",
    ),
    "projection": (
        "{'kl', 'l2', 'exact'}",
        "How an update is projected onto a diagonal covariance; only CW and CWVar have 'exact'.",
    ),
    "form": (
        "{'covariance', 'root'} or None",
        "How a full covariance is stored; None for the default of the algorithm.",
    ),
    "a": ("float", "Initial variance of every weight."),
    "forgetting": (
        "float",
        "Below 1, every variance grows by its inverse between examples, up to `a`: for streams that drift.",
    ),
    "kernel": (
        "{'linear', 'rbf', 'poly'} or None",
        "Learn in the feature space of a kernel; None for the features themselves. It suits data of a few "
        "thousand rows: time grows with the square of the support.",
    ),
    "gamma": ("float", "gamma in exp(-gamma ||x - z||^2) and (gamma x.z + coef0)^degree."),
    "degree": ("int", "Degree of the kernel 'poly'."),
    "coef0": ("float", "coef0 of the kernel 'poly'."),
}
ATTRIBUTES = {
    "classes_": ("ndarray of shape (n_classes,)", "The classes, sorted."),
    "n_features_in_": ("int", "Number of features seen in the first fit."),
    "coef_": (
        "ndarray of shape (1, n_features) or (n_classes, n_features)",
        "The weights: one row for two classes, otherwise one per class.",
    ),
    "intercept_": ("ndarray of shape (1,) or (n_classes,)", "The bias; zero unless `fit_intercept`."),
    "mistakes_": (
        "ndarray of shape (1,) or (n_classes,)",
        "Mistakes of each learner, counted before each example was learnt.",
    ),
    "updates_": ("ndarray of shape (1,) or (n_classes,)", "Rounds of each learner with a loss above zero."),
    "breakdowns_": (
        "ndarray of shape (1,) or (n_classes,)",
        "Numerical breakdowns of each learner; if there are any, rescale the data or change the form.",
    ),
    "learners_": ("list of Learner", "The online learners themselves."),
}
PROBABILITIES = (
    "`predict_proba` is the probability under the Gaussian over weights. It is not calibrated: wrap the "
    "estimator in scikit-learn's `CalibratedClassifierCV` where probabilities are used as such."
)
EXAMPLE = """
>>> from sklearn.datasets import load_breast_cancer
>>> from olbench.estimators import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> X = X / X.max(axis=0)
>>> model = {name}({settings}random_state=0).fit(X, y)
"""
SCORE = """
>>> round(model.score(X, y), 2)
{score}
"""


def describe_estimator(estimator: type[Any], definition: Definition) -> str:
    about = definition.estimator
    own = {parameter.name: parameter for parameter in definition.parameters}
    defaults = {field.name: field.default for field in fields(estimator)}
    explained: dict[str, tuple[str, str]] = SHARED | estimator.own_parameters
    explained |= {name: _explain(parameter, defaults[name]) for name, parameter in own.items()}
    parameters = (
        _describe(name, *explained[name], f", default={_show(defaults[name])}")
        for name in dict.fromkeys([*own, *defaults])
    )
    attributes = {**ATTRIBUTES, **estimator.own_attributes}
    body = [_wrap(about.summary or definition.doc)]
    body += [_wrap(PROBABILITIES)] if hasattr(estimator, "predict_proba") else []
    example = estimator.own_example or EXAMPLE
    example += "" if about.accuracy is None else SCORE.lstrip()
    sections = {
        "Parameters": "\n".join(parameters),
        "Attributes": "\n".join(_describe(name, *words) for name, words in attributes.items()),
        "References": "\n".join(_number_references(definition.source)),
        "Examples": example.strip().format(
            name=estimator.__name__, score=about.accuracy, settings=about.settings
        ),
    }
    body += [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items()]
    return "\n\n".join(body) + "\n"


def _explain(parameter: Parameter, default: Any) -> tuple[str, str]:
    words = parameter.doc[0].upper() + parameter.doc[1:]
    if parameter.choices:
        return "{" + ", ".join(repr(word) for word in parameter.choices) + "}", f"{words}."
    kind, extra = "float", f"; it lies in {parameter.interval}"
    if default is None:
        kind = "float or None"
        extra += (
            f", and replaces {parameter.instead_of}"
            if parameter.instead_of
            else f"; {parameter.default:g} if nothing is given"
        )
    return kind, f"{words}{extra}."


def _describe(name: str, kind: str, words: str, default: str = "") -> str:
    text = fill(words, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{name} : {kind}{default}\n{text}"


def _number_references(source: str) -> Iterable[str]:
    """Yield the parts of a source as numbered references, ids of papers written out."""
    for number, part in enumerate(source.split("; "), 1):
        names = "|".join(re.escape(name) for name in sorted(PAPERS, key=len, reverse=True))
        # The longest name first: scw2012 ends with the name of another paper.
        full = re.sub(names, lambda found: PAPERS[found[0]], part)
        yield fill(f".. [{number}] {full}.", WIDTH, subsequent_indent="       ")


def _wrap(text: str) -> str:
    """Return a text with a summary line and paragraphs; only paragraphs are wrapped."""
    return "\n\n".join(fill(" ".join(part.split()), WIDTH) for part in text.split("\n\n"))


def _show(value: Any) -> str:
    return repr(float(f"{value:.6g}")) if isinstance(value, float) else repr(value)
