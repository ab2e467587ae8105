"""Configs: YAML into typed structs (`specs`), what is wrong named with its line, and the JSON schema."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olbench.config.reading import apply_overrides, data_config, parse_config, read_config

__all__ = ["apply_overrides", "data_config", "parse_config", "read_config"]


def __getattr__(name: str) -> Any:
    """Import the reader when it is asked for: `specs` serves layers below those that the reader knows."""
    if name not in __all__:
        raise AttributeError(f"module 'olbench.config' has no attribute {name!r}")
    return getattr(importlib.import_module("olbench.config.reading"), name)
