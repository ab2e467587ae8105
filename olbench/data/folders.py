"""The folders for downloads and parsed data, all of which can be recreated."""

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
