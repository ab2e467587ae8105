"""The looks of algorithms in figures and on the page: hues of Okabe and Ito, and of Tol's "muted" scheme."""

import csv
import itertools
import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    dash: str = "solid"
    filled: bool = True
    width: float = 1.0

    @property
    def stands_out(self) -> bool:
        return self.width > 1


BLACK, VERMILLION, BLUE, GREEN = "#000000", "#d55e00", "#0072b2", "#009e73"
ORANGE, SKY, PINK, INDIGO = "#e69f00", "#56b4e9", "#cc79a7", "#332288"
WINE, OLIVE, TEAL, GREY = "#882255", "#999933", "#44aa99", "#777777"


def _read_styles() -> dict[str, Style]:
    text = Path(__file__).with_name("styles.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        row["id"]: Style(globals()[row["hue"].upper()], row["marker"], row["dash"], row["filled"] == "yes")
        for row in rows
    }


Looks = Mapping[str, Style]
#: The styles of algorithms by id, and of the variants of CW by their names in cw2008 and cw2012.
STYLES = _read_styles()
_HUES = (TEAL, WINE, INDIGO, SKY, OLIVE, PINK, BLUE, ORANGE, GREEN, GREY)
_MARKERS = ("d", "8", "p", "h", "<", ">", "P", "X", "s", "o", "^", "v", "D")
#: Highlighted algorithms have these colours, which no other has; if there are more than FEW others, these
#: turn grey.
HIGHLIGHTS = ("#d6007f", "#1b4dff", "#7a4a00", "#007a3d")
THICK, FEW, MUTED = 2.2, 6, ("#bebebe", 0.74)
#: The least luminance of a line on a dark background; WCAG requires a contrast of 3.
BRIGHT = 0.18


def styles(labels: Iterable[str], highlighted: Container[str] = (), among: Iterable[str] = ()) -> Looks:
    """Return a different style for every label; entries without one take the least used hue and marker.

    `among` has all labels of the run, so that each looks the same when some are left out.

    >>> look = styles(["arow (r=1.0)", "arow (r=0.1)", "mine"])
    >>> look["arow (r=1.0)"] == STYLES["arow"], look["mine"].colour == look["arow (r=0.1)"].colour
    (True, False)
    """
    labels = list(dict.fromkeys(labels))
    everyone = list(dict.fromkeys((*among, *labels)))
    # The first entry of an algorithm has the algorithm's style.
    first = {algorithm_of(label): label for label in reversed(everyone)}
    taken = {label: STYLES[id] for id, label in first.items() if id in STYLES}
    hues = Counter(style.colour for style in taken.values())
    markers = Counter(style.marker for style in taken.values())
    for label in everyone:
        if label not in taken:
            taken[label] = _least_used(hues, markers, set(taken.values()))
            hues[taken[label].colour] += 1
            markers[taken[label].marker] += 1
    stressed = [label for label in labels if label in highlighted]
    if stressed and len(labels) - len(stressed) > FEW:
        taken = {label: replace(style, colour=mix(style.colour, *MUTED)) for label, style in taken.items()}
    for colour, label in zip(itertools.cycle(HIGHLIGHTS), stressed, strict=False):
        taken[label] = replace(taken[label], colour=colour, dash="solid", filled=True, width=THICK)
    return {label: taken[label] for label in everyone}


def _least_used(hues: Counter[str], markers: Counter[str], used: set[Style]) -> Style:
    free = (
        Style(hue, marker, dash)
        for dash in ("dashdot", "solid", "dash", "dot")
        for hue in sorted(_HUES, key=lambda hue: hues[hue])
        for marker in sorted(_MARKERS, key=lambda marker: markers[marker])
    )
    return next((style for style in free if style not in used), Style(GREY, "o"))


def algorithm_of(label: str) -> str:
    return label.partition(" (")[0].partition(" [")[0]


def display_name(label: str) -> str:
    """Return a label as the papers print it.

    >>> display_name("scw1"), display_name("pa2 (C=1.0)"), display_name("mine")
    ('SCW-I', 'PA-II (C=1.0)', 'mine')
    """
    from olbench.algorithms import title_of

    id = algorithm_of(label)
    return title_of(id) + label[len(id) :]


def line_styles(
    labels: Iterable[str], highlighted: Container[str] = (), among: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    looks = styles(labels, highlighted, among).items()
    return {label: {**vars(style), "dark": on_dark(style.colour)} for label, style in looks}


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour with a share of another.

    >>> mix("#000000", "#ffffff", 0.2)
    '#333333'
    """
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + bytes(round(one + (two - one) * share) for one, two in pairs).hex()


def on_dark(colour: str) -> str:
    """Return a colour, mixed with enough white to be visible on a dark background; black turns white.

    >>> on_dark("#e69f00"), on_dark("#000000")
    ('#e69f00', '#ffffff')
    """
    lighter = (mix(colour, "#ffffff", share / 20) for share in range(21))
    return "#ffffff" if colour == BLACK else next(each for each in lighter if _luminance(each) >= BRIGHT)


def _luminance(colour: str) -> float:
    """Return WCAG's relative luminance, with a power of 2.2 for the curve of sRGB."""
    red, green, blue = (math.pow(channel / 255, 2.2) for channel in bytes.fromhex(colour[1:]))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
