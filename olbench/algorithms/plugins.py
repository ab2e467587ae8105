"""Algorithms from a user's own file (a plugin)."""

import importlib.util
import sys
from hashlib import sha256
from pathlib import Path

from olbench.algorithms.definition import REGISTRY, Definition
from olbench.errors import UserError

PREFIX = "olbench_plugin_"


def restore(id: str, module: str, file: str) -> Definition:
    """Return a pickled definition; load its plugin file if this process has not done so."""
    from olbench.algorithms import get_definition

    if module.startswith(PREFIX) and module not in sys.modules:
        load_plugin(file)
    return get_definition(id)


def load_plugin(path: str | Path) -> list[Definition]:
    """Run a Python file once and return the algorithms that it defines."""
    from olbench.algorithms import definitions

    definitions()
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"there is no plugin file {path}")
    # The module name depends on the path alone, so that numba finds what another process has compiled.
    name = f"{PREFIX}{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        _execute(name, file, str(path))
    return [definition for definition in REGISTRY.values() if definition.module == name]


def _execute(name: str, file: Path, given: str) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserError(f"the plugin {given} must be a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        # Leave nothing behind: the user may correct the file and load it again.
        del sys.modules[name]
        for id in [known.id for known in REGISTRY.values() if known.module == name]:
            del REGISTRY[id]
        if isinstance(error, UserError):
            raise
        line = _find_line(error, str(file))
        raise UserError(f"{given}{line}: the plugin failed: {type(error).__name__}: {error}") from error


def _find_line(error: BaseException, filename: str) -> str:
    """Return ':' and the last line of this file in a traceback, or an empty text."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line
