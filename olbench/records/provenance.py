"""Where numbers come from: the commit, the package versions, the machine."""

import hashlib
import os
import platform
import socket
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
PACKAGES = ("olbench", "numpy", "scipy", "numba", "llvmlite", "scikit-learn", "joblib", "pyyaml", "river")


def versions() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


@cache
def digest_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def machine() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "executable": sys.implementation.name,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@cache
def commit() -> dict[str, Any]:
    try:
        top = Path(_git("rev-parse", "--show-toplevel").strip())
        if top != PACKAGE.parent:
            return {"commit": None, "dirty": None}
        changes = _git("status", "--porcelain", "--untracked-files=no")
        return {"commit": _git("rev-parse", "HEAD").strip(), "dirty": bool(changes)}
    except (OSError, subprocess.SubprocessError):
        return {"commit": None, "dirty": None}


def _git(*words: str) -> str:
    command, none = ["git", *words], subprocess.DEVNULL
    return subprocess.check_output(command, cwd=PACKAGE, text=True, timeout=10, stdin=none, stderr=none)
