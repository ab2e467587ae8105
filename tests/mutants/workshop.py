"""Where mutants are tried: a copy of the package and its tests, and a process for each mutant.

Compiled code is kept from mutant to mutant, except that of the changed file and of all files that import it:
numba does not notice that a function called from another file has changed. Each process is a fork of one that
has imported all libraries, but not the package.
"""

import contextlib
import importlib
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.mutants.operators import Mutant
from tests.mutants.table import ROOT, tests_of

#: What the tests read besides the package and themselves.
BESIDE = ("configs", "datasets", "docs", "results", "pyproject.toml", "README.md", "CHANGELOG.md")


def import_libraries() -> None:
    """Import what all tests need, once for all child processes; not the package."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in (
        "numba", "pandas", "scipy.stats", "scipy.optimize", "sklearn.datasets", "sklearn.linear_model",
        "yaml", "hypothesis", "pytest", "click", "rich.console", "joblib", "jinja2", "requests",
    ):  # fmt: skip
        importlib.import_module(name)


def find_dependents(package: Path) -> dict[str, set[str]]:
    """Return for each module those that import it, directly or not, and itself."""
    users = defaultdict(set)
    for file in package.rglob("*.py"):
        name = ".".join(file.relative_to(package).with_suffix("").parts)
        for used in re.findall(r"^\s*from olbench\.([\w.]+) import", file.read_text(), re.MULTILINE):
            users[used].add(name)
    dependents = {}
    for name in list(users):
        reached: set[str] = set()
        todo = {name}
        while todo:
            reached |= todo
            todo = set().union(*(users[each] for each in todo)) - reached
        dependents[name] = reached
    return dependents


class Workshop:
    """A copy of the package and its tests, in which mutants are tried one after the other."""

    def __init__(self, folder: Path):
        self.tree, self.warm, self.cache = folder / "tree", folder / "warm", folder / "numba"
        self.log = folder / "log"
        for name in ("olbench", "tests"):
            shutil.copytree(ROOT / name, self.tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in BESIDE:
            (self.tree / name).symlink_to(ROOT / name)
        self.dependents = find_dependents(self.tree / "olbench")
        self.warm.mkdir()
        self.limits: dict[tuple[str, ...], float] = {}

    def prepare(self, tests: tuple[str, ...]) -> None:
        """Run tests without a mutant: they must pass, and leave compiled code and the time they take."""
        if tests in self.limits:
            return
        started = time.monotonic()
        status, told = self._run(tests, self.warm, 1800.0)
        if status != "survived":
            raise SystemExit(f"without a mutant, {told or ', '.join(tests)} fails:\n{self.log.read_text()}")
        self.limits[tests] = 60.0 + 2.0 * (time.monotonic() - started)

    def try_mutant(self, mutant: Mutant) -> dict[str, Any]:
        """Return whether the tests of its module kill a mutant, and which of them does."""
        tests = tests_of(mutant.module)
        self.prepare(tests)
        path = self.tree / "olbench" / f"{mutant.module.replace('.', '/')}.py"
        before, source = path.stat(), path.read_bytes()
        self._lay_out_cache(self.dependents.get(mutant.module, {mutant.module}))
        started = time.monotonic()
        try:
            path.write_bytes(mutant.apply(source))
            status, by = self._run(tests, self.cache, self.limits[tests])
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return {"status": status, "by": by, "seconds": round(time.monotonic() - started, 1)}

    def _lay_out_cache(self, changed: set[str]) -> None:
        """Fill the cache with links to the package's compiled code that does not depend on what changed."""
        shutil.rmtree(self.cache, ignore_errors=True)
        package = self.tree / "olbench"
        kept = {(file.parent.name, file.stem) for file in package.rglob("*.py")}
        kept -= {(package / name.replace(".", "/")).parts[-2:] for name in changed}
        for file in self.warm.rglob("*.nb?"):
            if (file.parent.name.rpartition("_")[0], file.name.partition(".")[0]) in kept:
                link = self.cache / file.relative_to(self.warm)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.hardlink_to(file)

    def _run(self, tests: tuple[str, ...], cache: Path, limit: float) -> tuple[str, str]:
        """Run tests in a child process; return killed, timeout or survived, and the test that failed."""
        shutil.rmtree(self.tree / ".hypothesis", ignore_errors=True)
        child = os.fork()
        if child == 0:
            os.setsid()
            try:
                code = self._be_child(tests, cache)
            except BaseException as error:
                print(error)
                code = 70
            os._exit(int(code))
        end, ended = time.monotonic() + limit, (0, 0)
        try:
            while ended == (0, 0) and time.monotonic() < end:
                time.sleep(0.02)
                ended = os.waitpid(child, os.WNOHANG)
        finally:  # what a test has started ends with it, and all ends with this process
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        if ended == (0, 0):
            os.waitpid(child, 0)
            return "timeout", ""
        log = self.log.read_text(errors="replace")
        if os.WIFEXITED(ended[1]) and os.WEXITSTATUS(ended[1]) in (4, 5, 70):
            raise SystemExit(f"the tests {', '.join(tests)} cannot be run: {log[-2000:]}")
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", log, re.MULTILINE)
        return ("survived" if ended[1] == 0 else "killed"), failed[1] if failed else ""

    def _be_child(self, tests: tuple[str, ...], cache: Path) -> int:
        import numba
        import pytest

        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, resource.RLIM_INFINITY))
        os.environ |= {
            "PYTHONPATH": str(self.tree),
            "NUMBA_CACHE_DIR": str(cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        os.environ.pop("OLBENCH_MIRROR", None)
        numba.config.reload_config()
        sys.dont_write_bytecode = cache != self.warm
        os.chdir(self.tree)
        sys.path[:] = [str(self.tree), *(each for each in sys.path if Path(each or ".").resolve() != ROOT)]
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        files = dict.fromkeys(each.partition("::")[0] for each in tests)
        options = [
            "-q",
            "-x",
            "--tb=line",
            "-rfE",
            "-m",
            "not alone",
            "-p",
            "no:cacheprovider",
            "--hypothesis-seed=0",
        ]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries are imported already
        return pytest.main([*options, *files], plugins=[Selection(tests)])


class Selection:
    """A plugin that runs the tests in the order of the table."""

    def __init__(self, tests: tuple[str, ...]):
        self.wanted = [each.partition("::")[::2] for each in tests]

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep what the table names, each test once."""
        chosen: dict[Any, None] = {}
        for file, pattern in self.wanted:
            chosen |= {
                item: None for item in items if item.nodeid.startswith(file) and re.search(pattern, item.name)
            }
        items[:] = chosen
