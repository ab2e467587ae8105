"""What a run shows in a notebook: one place below the cell, which is written again and again."""

import importlib
import sys
from typing import Any


def is_notebook() -> bool:
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return hasattr(find_shell() if find_shell else None, "kernel")


class Place:
    def __init__(self) -> None:
        self.handle: Any = None

    def write(self, html: str) -> None:
        display = importlib.import_module("IPython.display")
        if self.handle is None:
            self.handle = display.display(display.HTML(html), display_id=True)
        else:
            self.handle.update(display.HTML(html))
