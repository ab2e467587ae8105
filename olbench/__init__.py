"""olbench: an honest benchmark harness for online learning.

>>> import numpy as np
>>> from olbench import make_algorithm, online_pass
>>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([1, -1] * 50)
>>> online_pass(make_algorithm("scw1", C=1.0, eta=0.75), X, y).mistakes
1
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olbench import plot
    from olbench.algorithms import load_plugin
    from olbench.algorithms.algorithm import make_algorithm
    from olbench.algorithms.definition import Parameter, Traits, contestant, first_order, second_order
    from olbench.analysis.results import Results
    from olbench.api import bundle, run, verify
    from olbench.conformance.verdict import conform
    from olbench.data.load import load_dataset
    from olbench.errors import UserError
    from olbench.learners.contestants import wrap
    from olbench.learners.passes import online_pass
    from olbench.learners.start import start
    from olbench.learners.tracing import trace
    from olbench.protocols.definition import Cell, Protocol, protocol
    from olbench.protocols.specs import Experiment
    from olbench.records.quantities import Quantity
    from olbench.records.trial import Outcome
    from olbench.report.model import load_results

__version__ = "2.0.0.dev0"

_HOMES = {
    "Cell": "olbench.protocols.definition",
    "Experiment": "olbench.protocols.specs",
    "Outcome": "olbench.records.trial",
    "Parameter": "olbench.algorithms.definition",
    "Protocol": "olbench.protocols.definition",
    "Quantity": "olbench.records.quantities",
    "Results": "olbench.analysis.results",
    "Traits": "olbench.algorithms.definition",
    "UserError": "olbench.errors",
    "bundle": "olbench.api",
    "conform": "olbench.conformance.verdict",
    "contestant": "olbench.algorithms.definition",
    "first_order": "olbench.algorithms.definition",
    "load_dataset": "olbench.data.load",
    "load_results": "olbench.report.model",
    "load_plugin": "olbench.algorithms",
    "make_algorithm": "olbench.algorithms.algorithm",
    "online_pass": "olbench.learners.passes",
    "protocol": "olbench.protocols.definition",
    "run": "olbench.api",
    "second_order": "olbench.algorithms.definition",
    "trace": "olbench.learners.tracing",
    "verify": "olbench.api",
    "start": "olbench.learners.start",
    "wrap": "olbench.learners.contestants",
}

__all__ = [
    "Cell",
    "Experiment",
    "Outcome",
    "Parameter",
    "Protocol",
    "Quantity",
    "Results",
    "Traits",
    "UserError",
    "bundle",
    "conform",
    "contestant",
    "first_order",
    "load_dataset",
    "load_plugin",
    "load_results",
    "make_algorithm",
    "online_pass",
    "plot",
    "protocol",
    "run",
    "second_order",
    "start",
    "trace",
    "verify",
    "wrap",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: `import olbench` itself is instant."""
    if name == "plot":
        return importlib.import_module("olbench.plot")
    if name not in _HOMES:
        raise AttributeError(f"module 'olbench' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
