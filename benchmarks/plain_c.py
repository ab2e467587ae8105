"""The peer in plain C: compiled when it is measured, with whatever compiler this machine has."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("plain.c")
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fPIC", "-c")
#: The algorithms that plain.c has.
SECOND_ORDER = ("arow", "scw1")
IDS = (*SECOND_ORDER, "perceptron", "pa1")


def find_compiler() -> str | None:
    """Return the C compiler: the one that CC names, or the first of the usual names."""
    names = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@cache
def load_library() -> Any:
    """Compile plain.c and return the library, or None if there is no compiler or it fails."""
    compiler = find_compiler()
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        compiled, target = Path(folder) / "plain.o", Path(folder) / "plain.so"
        # Linked without -ffast-math, or loading it would turn off subnormal numbers in the whole process.
        for command in (
            [compiler, *FLAGS, str(SOURCE), "-o", str(compiled)],
            [compiler, "-shared", str(compiled), "-o", str(target), "-lm"],
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                return None
        return ctypes.CDLL(str(target))


def plain_c(id: str, X: Any, y: Any, order: Any = None, diagonal: bool = False) -> Any:
    """Return the pass in C over an array or a CSR matrix, or None if this machine cannot compile it."""
    library = load_library()
    if library is None:
        return None
    n, d = X.shape
    order = np.arange(n) if order is None else order
    if isinstance(X, np.ndarray):
        arrays, storage = [X], "dense"
    else:
        arrays = [X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64)]
        storage = "diagonal" if diagonal else "sparse"
    arrays = [np.ascontiguousarray(array) for array in (*arrays, y, order)]
    function = getattr(library, f"{id}_{storage}")
    function.restype = ctypes.c_int64

    def run() -> object:
        mu, z = np.zeros(d), np.empty(d)
        sigma = np.empty(0) if id not in SECOND_ORDER else np.ones(d) if diagonal else np.eye(d)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, mu, sigma, z)]
        return int(function(ctypes.c_int64(order.size), ctypes.c_int64(d), *pointers))

    return run
