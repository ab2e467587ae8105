"""Finds extensions of olbench: in a user's file, an installed package, or a folder of `papers/`.

All three register through the decorators of the packages. A registry imports what ships and what is installed
when it is first used; `load_file` runs a user's file.
"""

import ast
import importlib
import importlib.machinery
import importlib.util
import inspect
import pkgutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Generic, NoReturn, TypeVar

from olbench.errors import InputWarning, UserError, describe_error, find_line, is_file, suggest

Item = TypeVar("Item")
#: Modules made from a user's files; the name depends only on the path, so that numba finds what another
#: process has compiled.
PREFIX = "olbench_plugin_"
PAPERS = "olbench.papers"
#: A folder below olbench/papers is a paper if it has this file.
NUMBERS = "numbers.yaml"


class Registry(dict[str, Item], Generic[Item]):
    """What is registered, by id; `listed` and `load` import what ships and what is installed.

    The files of a package come first, `first` before its others, then the modules named `part` of papers,
    then the entry points of `group`, which are passed to `take`.
    """

    def __init__(
        self,
        what: str,
        *,
        room: str = "",
        part: str = "",
        group: str = "",
        first: Sequence[str] = (),
        take: Callable[[str, Any], None] = lambda name, loaded: None,
    ):
        super().__init__()
        self.what, self.room, self.part, self.group, self.first = what, room, part, group, first
        self.take = take
        self.homes: dict[str, str] = {}
        self._places: dict[str, int] | None = None
        REGISTRIES.append(self)

    def add(self, id: str, item: Item, module: str) -> None:
        """Register an item; only the file that did so before, or a notebook, may do so again."""
        if LOADS and (self.what, id) in LOADS[-1]:
            raise UserError(f"this file defines {self.what} '{id}' a second time; give it another id")
        if LOADS:
            LOADS[-1].add((self.what, id))
        if id in self and file_of(self.homes[id]) not in (file_of(module), "__main__"):
            kind = self.what.removeprefix("the ")
            article = "an" if kind[0] in "aeiou" else "a"
            raise UserError(
                f"{article} {kind} named '{id}' already exists ({file_of(self.homes[id])}); choose another id"
            )
        self[id], self.homes[id] = item, module

    def load(self) -> dict[str, int]:
        if self._places is None:
            self._places = {}
            modules = import_all(self.room, self.first) if self.room else []
            parts = [name for id in paper_folders() if self.part and (name := find_part(id, self.part))]
            for name in parts:
                importlib.import_module(name)
            if self.group:
                load_entry_points(self.group, self.what, self.take)
            self._places |= {module: place for place, module in enumerate([*modules, *parts])}
        return self._places

    def listed(self) -> list[Item]:
        """Return all items: what ships in one order, whatever was imported before, then the others."""
        places = self.load()

        def place(id: str) -> int:
            inside = (at for module, at in places.items() if f"{self.homes[id]}.".startswith(f"{module}."))
            return next(inside, len(places))

        return [self[id] for id in sorted(self, key=place)]

    def is_installed(self, module: str) -> bool:
        """Return whether a module ships or is of an installed package, and so not a user's own file."""
        from importlib.metadata import entry_points

        package = module.partition(".")[0]
        return package == "olbench" or any(
            point.module.partition(".")[0] == package for point in entry_points(group=self.group)
        )

    def drop(self, module: str) -> None:
        for id in [id for id, home in self.homes.items() if home == module]:
            del self[id], self.homes[id]


REGISTRIES: list[Registry[Any]] = []
#: What each plugin that is being loaded has defined so far; one may load another.
LOADS: list[set[tuple[str, str]]] = []


def file_of(module: str) -> str:
    return str(getattr(sys.modules.get(module), "__file__", None) or module)


def import_all(package: str, first: Sequence[str] = ()) -> list[str]:
    folder = getattr(importlib.import_module(package), "__path__", ())
    found = sorted(each.name for each in pkgutil.iter_modules(folder))
    names = [f"{package}.{name}" for name in [*first, *(name for name in found if name not in first)]]
    for name in names:
        importlib.import_module(name)
    return names


@cache
def paper_folders() -> dict[str, Path]:
    """Return the folders of the papers that ship, by id."""
    found = sorted(Path(__file__).parent.glob(f"papers/*/{NUMBERS}"))
    return {path.parent.name: path.parent for path in found}


@cache
def paper_modules() -> dict[str, tuple[str, Path]]:
    """Return the module and the file of numbers of each paper that ships or is installed, by id."""
    from olbench.structs import Node, read_yaml

    found = {id: (f"{PAPERS}.{id}", folder / NUMBERS) for id, folder in paper_folders().items()}

    def take(id: str, module: Any) -> None:
        path = folder_of(module) / NUMBERS
        if id in found:
            raise UserError(f"there is a paper '{id}' already")
        about = read_yaml(path).mapping("the file of a paper").get("id", Node("", str(path))).value
        if about != id:
            raise UserError(f"{path} has the id {about}, but the entry point is named {id}")
        found[id] = (module.__name__, path)

    load_entry_points(PAPERS, "the paper", take)
    return found


def paper_ids() -> list[str]:
    return sorted(paper_modules())


def is_paper_file(id_or_path: str) -> bool:
    return id_or_path.endswith((".yaml", ".yml"))


def find_paper(id_or_path: str) -> Path:
    """Return the file of numbers of a paper, which need not be there if it is a path."""
    if is_paper_file(id_or_path):
        return Path(id_or_path)
    if id_or_path not in paper_modules():
        raise UserError(
            f"there are no numbers of a paper '{id_or_path}'{suggest(id_or_path, paper_ids())}; there are "
            f"{', '.join(paper_ids())}, and a path to a YAML file works as well"
        )
    return paper_modules()[id_or_path][1]


def find_part(id: str, part: str) -> str:
    """Return the name of a module in the folder of a paper that ships; '' if it has no such module."""
    folder = paper_folders()[id]
    there = (folder / f"{part}.py").is_file() or (folder / part / "__init__.py").is_file()
    return f"{PAPERS}.{id}.{part}" if there else ""


def find_paper_part(id: str, part: str) -> str:
    """Return the name of a module of a paper that ships or is installed; '' if it has no such module."""
    module = paper_modules()[id][0] if id in paper_modules() else f"{PAPERS}.{id}"
    try:
        return f"{module}.{part}" if importlib.util.find_spec(f"{module}.{part}") else ""
    except ModuleNotFoundError:  # the module of a package that has no folder
        return ""


def load_entry_points(
    group: str, what: str, take: Callable[[str, Any], None] = lambda name, loaded: None
) -> None:
    """Pass the name and the object of each entry point to `take`, which may refuse them with a UserError."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        try:
            take(point.name, point.load())
        except (Exception, SystemExit) as error:
            owner = f"the package {point.dist.name}" if point.dist else point.value
            reason = f"{what} of {owner} ({point.value}) cannot be loaded: {describe_error(error)}"
            warnings.warn(reason, InputWarning, stacklevel=3)


def folder_of(module: Any) -> Path:
    file = getattr(module, "__file__", None)
    place = Path(file).parent if file else next(iter(getattr(module, "__path__", ())), None)
    if place is None:
        raise UserError("it must name a module whose folder has the file")
    return Path(place)


def load_file(path: str | Path) -> str:
    """Run a user's file once, and return the name of its module."""
    if not is_file(Path(path)):
        raise UserError(f"there is no plugin file {path}")
    file = Path(path).resolve()
    name = f"{PREFIX}{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        _execute(name, file, str(path))
    return name


def forget_file(module: str) -> None:
    """Undo what `load_file` did."""
    sys.modules.pop(module, None)
    for registry in REGISTRIES:
        registry.drop(module)


class FreshLoader(importlib.machinery.SourceFileLoader):
    """Ignores bytecode, which misses an edit within a second that keeps the size; writes no __pycache__."""

    def path_stats(self, path: str) -> NoReturn:
        """Without a date, bytecode is neither read nor written."""
        raise OSError


def make_module(name: str, file: Path) -> tuple[FreshLoader, ModuleType]:
    loader = FreshLoader(name, str(file))
    spec = importlib.machinery.ModuleSpec(name, loader, origin=str(file))
    spec.has_location = True
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return loader, sys.modules[name]


def _execute(name: str, file: Path, given: str) -> None:
    if file.suffix != ".py":
        raise UserError(f"the plugin {given} must be a Python file (.py)")
    loader, module = make_module(name, file)
    LOADS.append(set())
    try:
        loader.exec_module(module)
    # sys.exit in a plugin would end the command as if all were well.
    except BaseException as error:
        forget_file(name)  # the user may correct it and load it again
        reason = str(error) if isinstance(error, UserError) else f"the plugin failed: {describe_error(error)}"
        if reason.startswith(str(file)):
            raise
        if isinstance(error, ModuleNotFoundError):
            reason += "; install it, or put its folder on PYTHONPATH, even if the plugin is in it"
        line = find_line(error, str(file))
        place = f"{given}:{line}" if line else given
        raise UserError(f"{place}: {reason.replace(f' ({file.name}, line {line})', '')}") from error
    finally:
        LOADS.pop()


def read_source(function: Any) -> bytes | str:
    """Return the file of a function or class, in a notebook its own lines, or '' if it has no source."""
    try:
        file = Path(inspect.getfile(function))
        return file.read_bytes() if file.is_file() else textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def find_parts(function: Any) -> list[Any]:
    """Return what numba compiles with a user's function: jitted functions, and the values of globals."""
    parts: list[Any] = []
    for part in chain([function], parts):
        if not inspect.isfunction(part) or str(part.__module__).startswith("olbench."):
            continue
        names = _find_names(part.__code__)
        values = [cell.cell_contents for cell in part.__closure__ or ()]
        values += [part.__globals__[name] for name in names if name in part.__globals__]
        for value in values:
            if inspect.ismodule(value):
                inside = [vars(value)[name] for name in names if name in vars(value)]
                values += [each for each in inside if not any(each is known for known in values)]
            is_jitted = type(value).__module__.startswith(("numba.", "olbench.kernels."))
            if is_jitted or hasattr(type(value), "tobytes") or isinstance(value, int | float | str | tuple):
                value = getattr(value, "__wrapped__", value)
                if not any(value is known for known in [function, *parts]):
                    parts.append(value)
    return [part for part in parts if not str(getattr(part, "__module__", "")).startswith("olbench.")]


def _find_names(code: CodeType) -> list[str]:
    inner = (_find_names(each) for each in code.co_consts if inspect.iscode(each))
    return [*code.co_names, *chain.from_iterable(inner)]


def digest_syntax(*sources: bytes | str) -> str:
    """Return a hash of Python code that docstrings, comments and blank lines do not change."""
    outlines = "".join(repr(_outline(ast.parse(source))) for source in sources)
    return sha256(outlines.encode()).hexdigest()[:16]


def _outline(node: Any) -> Any:
    """Return a syntax tree as plain lists, which every version of Python makes alike; `ast.dump` differs."""
    if isinstance(node, list):
        return [_outline(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        parts["body"] = node.body if ast.get_docstring(node, clean=False) is None else node.body[1:]
    kept = ([name, _outline(part)] for name, part in parts.items() if part not in (None, []))
    return [type(node).__name__, *kept]
