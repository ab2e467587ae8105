"""Where olbench keeps what can be downloaded or made again."""

import os
import shutil
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of everything below: OLBENCH_CACHE, or the user's cache folder."""
    given = os.environ.get("OLBENCH_CACHE")
    if given:
        return Path(given).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("olbench")


def parsed_folder() -> Path:
    """Return where parsed data sets are kept."""
    return cache_folder() / "parsed"


def downloads_folder() -> Path:
    """Return where fetched files are kept."""
    return cache_folder() / "downloads"


def clean(downloads: bool = False) -> int:
    """Remove the parsed data sets and the rests of killed downloads, or all downloads; return the bytes."""
    folders = [parsed_folder(), cache_folder() / "hashes"]
    folders += [downloads_folder()] if downloads else downloads_folder().glob(".partial-*")
    freed = 0
    for folder in folders:
        freed += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        shutil.rmtree(folder, ignore_errors=True)
    return freed
