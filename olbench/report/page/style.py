"""How the page draws each algorithm: the palette of the figures, with colours for a dark background."""

import math
from collections.abc import Iterable
from typing import Any

from olbench.report.figures.palette import styles

#: The least luminance of a line on a dark background: WCAG asks for a contrast of 3.
BRIGHT = 0.18


def line_styles(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colours (light, dark), dash, marker and width of each label."""
    looks = styles(labels).items()
    return {label: {**vars(style), "dark": on_dark(style.colour)} for label, style in looks}


def on_dark(colour: str) -> str:
    """Return a colour with enough white added to be seen on a dark background; black turns white.

    >>> on_dark("#e69f00"), on_dark("#000000")
    ('#e69f00', '#ffffff')
    """
    if colour == "#000000":
        return "#ffffff"
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    white = 0.0
    while _luminance(mixed := [round(each + (255 - each) * white) for each in channels]) < BRIGHT:
        white += 0.05
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _luminance(channels: list[int]) -> float:
    """Return WCAG's relative luminance, with the usual power of 2.2 for sRGB's curve."""
    red, green, blue = (math.pow(channel / 255, 2.2) for channel in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
