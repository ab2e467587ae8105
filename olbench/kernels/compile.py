"""Numba types of rules and kernels, and typed fronts for its decorator.

Rules reach the kernels as first-class functions with one explicit signature, so one compiled kernel serves
every rule, and numba's cache on disk holds both. Arrays that a kernel only reads are declared read-only: that
type accepts memory maps and ordinary arrays alike.

No reduction is left to the compiler. Sums are written in a fixed order, and numba's default (no fastmath)
keeps fused multiply-add off, so a pass gives the same bits whatever the width of the machine's vectors.
"""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any, cast

import numba
from numba import boolean, float64, int64, types, uint32, void
from numba.core import caching

from olbench.errors import UserError
from olbench.files import cache_folder
from olbench.kernels.helpers import Function, Helper

if numba.config.DISABLE_JIT:
    raise UserError(
        "NUMBA_DISABLE_JIT is set, but olbench runs compiled code only: its kernels take each other's "
        "addresses; unset the variable"
    )

READ_1D = types.Array(float64, 1, "C", readonly=True)
READ_2D = types.Array(float64, 2, "C", readonly=True)
# Unsigned, because a signed index makes numba test on every use whether it counts from the end.
READ_UINT32 = types.Array(uint32, 1, "C", readonly=True)
READ_INT64 = types.Array(int64, 1, "C", readonly=True)
WRITE_1D = types.Array(float64, 1, "C")
WRITE_2D = types.Array(float64, 2, "C")
WRITE_3D = types.Array(float64, 3, "C")
WRITE_INT64 = types.Array(int64, 1, "C")
WRITE_UINT32 = types.Array(uint32, 1, "C")
WRITE_2D_INT64 = types.Array(int64, 2, "C")

#: dense (no rows if the storage is CSR), data, columns, indptr, ||x||^2, and whether dense rows hold zeros
ROWS = types.Tuple((READ_2D, READ_1D, READ_UINT32, READ_INT64, READ_1D, boolean))

#: (m, s, mistake, q, t, k, p) -> (loss, shrink, tau)
FIRST_ORDER_RULE = types.UniTuple(float64, 3)(float64, float64, boolean, float64, int64, int64, READ_1D)
#: (m, v, mistake, t, p) -> (loss, alpha, c)
SECOND_ORDER_RULE = types.UniTuple(float64, 3)(float64, float64, boolean, int64, READ_1D)
#: (m, v, p) -> (loss, unit, A, b0, b1, K), the terms of the equation in olbench.kernels.exact
EXACT_RULE = types.UniTuple(float64, 6)(float64, float64, READ_1D)
#: (m, v_y, v_s, p) -> (alpha, c), the step over the covariances of two classes
PAIR_RULE = types.UniTuple(float64, 2)(float64, float64, float64, READ_1D)
#: (negatives, positives, last label, p) -> margin
BASELINE_RULE = float64(int64, int64, float64, READ_1D)

#: Advice sets: values, columns, row ends (CSR of all D), d, the first row of each set (and the end of the
#: last), the signs z, then per set (I + mu D D')^-1 from a corner on, B d and c = mu / (1 + mu d'B d), and
#: |D_j|^2 per row
SETS = types.Tuple((
    READ_1D, READ_UINT32, READ_INT64, READ_1D, READ_INT64, READ_1D, READ_1D, READ_INT64,
    READ_1D, READ_1D, READ_1D,
))  # fmt: skip
#: (the set, all sets, the parameters, w, u, room): moves the u of one set in place
ADVICE_STEP = void(int64, SETS, READ_1D, READ_1D, WRITE_1D, WRITE_1D)
#: The rule of an algorithm by its order.
RULES = {
    "first": FIRST_ORDER_RULE,
    "second": SECOND_ORDER_RULE,
    "advice": ADVICE_STEP,
    "baseline": BASELINE_RULE,
}


def inlined(function: Function) -> Function:
    """Compile a function that kernels call in every round; it may neither make nor return an array.

    The caller holds a reference to every array, so none is counted here: counting would take longer than a
    short round. The code becomes part of the caller, which keeps the fields of arrays in registers.
    """
    return cast(Function, Helper(function, forceinline=True, _nrt=False))


class LazyKernel(Helper):
    """A pass over examples, compiled or loaded from numba's cache when it is first used.

    To import a module takes no compiler, so a command compiles what it runs and nothing else.
    """

    def __init__(self, function: Callable[..., Any], signature: Any):
        super().__init__(function)
        self.signature = signature

    @cached_property
    def _compiled(self) -> Any:
        return _compile(numba.njit, self.py_func, self.signature, nogil=True)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for: the kernel that Python calls, too."""
        return self._compiled._numba_type_

    @property
    def overloads(self) -> Any:
        """The compiled code, by the types of its arguments."""
        return self._compiled.overloads

    @property
    def stats(self) -> Any:
        """How often it was compiled, and how often found in the cache."""
        return self._compiled.stats

    def warm_up(self) -> None:
        """Compile it, or load it from the cache."""
        _ = self._compiled

    @property
    def is_ready(self) -> bool:
        """Whether it is compiled, here or in numba's cache on disk."""
        if "_compiled" in vars(self):
            return True
        cache = getattr(_compile(numba.njit, self.py_func, None, nogil=True), "_cache", None)
        file = getattr(cache, "_cache_file", None)  # of another name in a later numba: then it is not known
        return file is None or bool(file._load_index())


def kernel(signature: Any) -> Callable[[Function], Function]:
    """Compile a pass over examples for one signature, or later if None; it releases the GIL and is cached.

    The NumPy error model makes a division by zero infinite: raising would cost a branch in every division.
    """

    def decorate(function: Function) -> Function:
        if signature is None:
            return cast(Function, _compile(numba.njit, function, None, nogil=True))
        return cast(Function, LazyKernel(function, signature))

    return decorate


def pass_kernel(rule: Any, *state: Any) -> Callable[[Function], Function]:
    """Compile a pass over rule, p, rows, y and order; then come arguments of these types, then margins."""
    return kernel(void(types.FunctionType(rule), READ_1D, ROWS, READ_1D, READ_INT64, *state, WRITE_2D))


def rule(signature: Any, function: Callable[..., Any], **how: Any) -> Any:
    """Compile a rule as a first-class function, cached on disk if its source is a file."""
    return _compile(numba.cfunc, function, signature, **how)


def _compile(compiler: Callable[..., Any], function: Callable[..., Any], signature: Any, **how: Any) -> Any:
    """Compile and cache a function, wherever there is a place for the cache."""
    _compiled_here[function.__code__] = str(how)
    try:
        return compiler(signature, cache=True, error_model="numpy", **how)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
    # A rule typed into a notebook or a shell has no file beside which numba could keep a cache.
    is_cached = os.path.exists(function.__code__.co_filename) and _use_own_cache()
    return compiler(signature, cache=is_cached, error_model="numpy", **how)(function)


_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^\s*(?:from|import) olbench\.([\w.]+)", re.MULTILINE)
#: What was compiled here, and how.
_compiled_here: dict[CodeType, str] = {}


class _Place:
    """Where compiled code is kept, and how long it is valid: what numba calls a cache locator.

    Numba's own locators put files beside users' files, and look at the file of a function alone. Kernels take
    functions from other files, so after an upgrade they would run the old ones.
    """

    def __init__(self, function: Any, file: Path, folder: Path):
        self.file, self.folder = file, folder
        self.line, self.how = function.__code__.co_firstlineno, _compiled_here[function.__code__]

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_Place | None":
        """Return the place of a function, or None if it was not compiled here or there is none."""
        if function.__code__ not in _compiled_here or not os.path.exists(file):
            return None
        path = Path(file).resolve()
        folder = _find_folder(path) or (_find_folder(path) if _use_own_cache() else None)
        if folder is None:
            raise RuntimeError(f"no locator available for {file}")  # as numba says it
        return cls(function, path, folder)

    def ensure_cache_path(self) -> None:
        """Do nothing: the folder is there."""

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self.folder)

    def get_source_stamp(self) -> str:
        """Return what changes whenever the code does, or how it is compiled; a date could go back."""
        files = _find_sources(self.file)
        return hashlib.sha256(b"".join(_read(file)[0] for file in files)).hexdigest() + self.how

    def get_disambiguator(self) -> str:
        """Tell functions of one name in one file apart."""
        return str(self.line)


def _find_folder(file: Path) -> Path | None:
    """Return the first folder for the code of a file that can be written."""
    name = f"{file.parent.name}-{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}"
    with suppress(OSError, UserError):
        if numba.config.CACHE_DIR:
            return _make_folder(Path(numba.config.CACHE_DIR).absolute() / name)
        with suppress(OSError):
            if file.is_relative_to(_PACKAGE):
                return _make_folder(file.parent / "__pycache__")
        shared = cache_folder().absolute() / "compiled"
        shared.parent.mkdir(parents=True, exist_ok=True)
        return _make_folder(_make_private(_make_private(shared) / name))
    return None


def _make_private(folder: Path) -> Path:
    """Create a folder; raise an OSError if others could put code into it, which numba would run."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        raise PermissionError(f"others can write to {folder}")
    return folder


def _make_folder(folder: Path) -> Path:
    """Create a folder and see that files can be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


@cache
def _find_sources(file: Path) -> list[Path]:
    """Return a file and, if it is one of this package, all that it imports from there, directly or not."""
    if not file.is_relative_to(_PACKAGE):
        return [file]
    found, new = {file}, [file]
    while new:
        for path in (_PACKAGE.joinpath(*module.split(".")) for module in _read(new.pop())[1]):
            imported = {path.with_suffix(".py"), *path.glob("*.py")}
            new += [each for each in imported - found if each.is_file()]
            found |= imported
    return sorted(each for each in found if each.is_file())


@cache
def _read(file: Path) -> tuple[bytes, list[str]]:
    """Return the content of a file and the modules of this package that it imports."""
    content = file.read_bytes()
    return content, _IMPORT.findall(content.decode(errors="replace"))


# Another numba may keep its locators elsewhere; then compiled code stays where it puts it.
_implementation = getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl", None)
getattr(_implementation, "_locator_classes", []).insert(0, _Place)


def _use_own_cache() -> bool:
    """Keep compiled code in a folder of this process: neither the package nor the cache can be written.

    The folder is new and private, as numba runs what it finds in one. Worker processes share it. Return
    whether there is one now: where NUMBA_CACHE_DIR names a folder that cannot be written, nothing is kept.
    """
    if numba.config.CACHE_DIR:
        return False
    folder = tempfile.mkdtemp(prefix="olbench-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder
    _temporary.append(folder)
    return True


#: The folder of this process, if there is one.
_temporary: list[str] = []


def outlasts_process() -> bool:
    """Return whether what was compiled so far is kept for the next process."""
    return not _temporary
