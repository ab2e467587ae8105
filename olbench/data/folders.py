"""The folders for downloads and parsed data, all of which can be recreated."""

import shutil
from pathlib import Path

from olbench.files import cache_folder


def parsed_folder() -> Path:
    return cache_folder() / "parsed"


def downloads_folder() -> Path:
    return cache_folder() / "downloads"


def runs_folder() -> Path:
    return cache_folder() / "runs"


def piped_folder() -> Path:
    return cache_folder() / "piped"


def clean(downloads: bool = False) -> int:
    """Remove parsed and piped data, runs, compiled rules and broken downloads, or all; return the bytes."""
    kept = ("hashes", "compiled")
    folders = [parsed_folder(), piped_folder(), runs_folder(), *(cache_folder() / name for name in kept)]
    folders += [downloads_folder()] if downloads else downloads_folder().glob(".partial-*")
    freed = 0
    for folder in folders:
        freed += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        shutil.rmtree(folder, ignore_errors=True)
    return freed
