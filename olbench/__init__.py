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
    from olbench import plot as plot
    from olbench.algorithms import load_plugin as load_plugin
    from olbench.algorithms.algorithm import make_algorithm as make_algorithm
    from olbench.algorithms.compiled import compiled_learner as compiled_learner
    from olbench.algorithms.definition import Parameter as Parameter
    from olbench.algorithms.definition import Traits as Traits
    from olbench.algorithms.definition import contestant as contestant
    from olbench.algorithms.definition import first_order as first_order
    from olbench.algorithms.definition import second_order as second_order
    from olbench.analysis.results import Results as Results
    from olbench.api import bundle as bundle
    from olbench.api import compare as compare
    from olbench.api import run as run
    from olbench.conformance.verdict import conform as conform
    from olbench.data.load import load_dataset as load_dataset
    from olbench.engine.verification import verify as verify
    from olbench.errors import UserError as UserError
    from olbench.kernels.helpers import add as add
    from olbench.kernels.helpers import dot as dot
    from olbench.kernels.helpers import project as project
    from olbench.learners.contestants import wrap as wrap
    from olbench.learners.passes import online_pass as online_pass
    from olbench.learners.start import start as start
    from olbench.learners.tracing import trace as trace
    from olbench.protocols.definition import Cell as Cell
    from olbench.protocols.definition import Protocol as Protocol
    from olbench.protocols.definition import protocol as protocol
    from olbench.protocols.specs import Experiment as Experiment
    from olbench.records.quantities import Quantity as Quantity
    from olbench.records.trial import Outcome as Outcome
    from olbench.report.tables.results import load_results as load_results

__version__ = "2.0.0"
#: What `compare`, `olbench init` and `olbench run DATA` run unless algorithms are named.
FIRST_ALGORITHMS = ("perceptron", "pa1", "arow", "scw1")

#: The public names by module, which are imported when they are first used.
_MODULES = {
    "algorithms": "load_plugin",
    "algorithms.algorithm": "make_algorithm",
    "algorithms.compiled": "compiled_learner",
    "algorithms.definition": "Parameter Traits contestant first_order second_order",
    "analysis.results": "Results",
    "api": "bundle compare run",
    "conformance.verdict": "conform",
    "data.load": "load_dataset",
    "engine.verification": "verify",
    "errors": "UserError",
    "kernels.helpers": "add dot project",
    "learners.contestants": "wrap",
    "learners.passes": "online_pass",
    "learners.start": "start",
    "learners.tracing": "trace",
    "protocols.definition": "Cell Protocol protocol",
    "protocols.specs": "Experiment",
    "records.quantities": "Quantity",
    "records.trial": "Outcome",
    "report.tables.results": "load_results",
}
_HOMES = {name: f"olbench.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted([*_HOMES, "plot"])


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: `import olbench` itself is instant."""
    if name == "plot":
        return importlib.import_module("olbench.plot")
    if name not in _HOMES:
        raise AttributeError(f"module 'olbench' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
