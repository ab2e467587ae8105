"""Compiles what many tests need, before several processes run them and each compiles the same.

    python -m tests.compile

Compiled code is kept between sessions. olbench itself notices changes of the sources, file by file.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from tests import ROOT

CACHE = Path(tempfile.gettempdir()) / f"olbench-numba-{os.getuid()}"
#: The packages whose code is compiled.
FOLDERS = ("kernels", "algorithms", "learners", "papers")


def find_mark():
    """Return the path of a file that exists once all is compiled for the sources of today."""
    sources = sorted(path for name in FOLDERS for path in (ROOT / "olbench" / name).rglob("*.py"))
    digest = hashlib.sha256(os.fsencode(ROOT) + b"".join(path.read_bytes() for path in sources))
    return Path(os.environ["NUMBA_CACHE_DIR"]) / digest.hexdigest()[:16]


def list_forms_by_learner():
    """Return (id, options, d) of every form of every algorithm, in one list per compiled loop."""
    from olbench import make_algorithm
    from olbench.kernels.counters import BLOCKED_FROM
    from olbench.learners.start import start, start_classes
    from tests.behaviours import list_forms
    from tests.examples import built_in, built_in_native

    found = {}
    for definition in (*built_in(), *built_in_native()):
        for options in list_forms(definition):
            for d in (2, BLOCKED_FROM):
                algorithm = make_algorithm(definition.id, **options)
                is_native = algorithm.multiclass == "native"
                learner = start_classes(algorithm, d, 3) if is_native else start(algorithm, d)
                own = definition.id if definition.order == "compiled" else ""
                found.setdefault((type(learner), options.get("covariance"), own), []).append(
                    (definition.id, options, d)
                )
    return found.values()


def learn_a_little(forms):
    import numpy as np

    from olbench import make_algorithm, online_pass

    for id, options, d in forms:
        algorithm = make_algorithm(id, **options)
        y, labels = ([0, 1, 2], "all") if algorithm.multiclass == "native" else ([1, -1, 1], "two")
        online_pass(algorithm, np.ones((3, d)), y, labels=labels)


def main():
    os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))
    if (mark := find_mark()).exists():
        return
    from joblib import Parallel, delayed

    groups = sorted(list_forms_by_learner(), key=len, reverse=True)
    Parallel(n_jobs=os.cpu_count(), batch_size=1)(delayed(learn_a_little)(group) for group in groups)
    mark.touch()


if __name__ == "__main__":
    main()
