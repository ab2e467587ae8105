"""How an algorithm looks in figures and on the page: hues of Okabe and Ito, and of Tol's "muted" scheme.

Related algorithms share a hue and differ in shape: second-order ones have solid lines and filled markers.
"""

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

Dash = Literal["solid", "dash", "dot", "dashdot"]


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    dash: Dash = "solid"
    filled: bool = True
    width: float = 1.0

    @property
    def stands_out(self) -> bool:
        return self.width > 1


BLACK, VERMILLION, BLUE, GREEN = "#000000", "#d55e00", "#0072b2", "#009e73"
ORANGE, SKY, PINK, INDIGO = "#e69f00", "#56b4e9", "#cc79a7", "#332288"
WINE, OLIVE, TEAL, GREY = "#882255", "#999933", "#44aa99", "#777777"

STYLES: dict[str, Style] = {
    "perceptron": Style(GREY, "o", "dash", filled=False),
    "margin-perceptron": Style(GREY, "p", "dot", filled=False),
    "romma": Style(OLIVE, "s", "dash", filled=False),
    "aromma": Style(OLIVE, "D", "dot", filled=False),
    "pa": Style(PINK, "<", "dash", filled=False),
    "pa1": Style(PINK, ">", "dashdot", filled=False),
    "pa2": Style(PINK, "h", "dot", filled=False),
    "perceptron-libol": Style(GREY, "h", "dashdot", filled=False),
    "romma-libol": Style(OLIVE, "h", "dashdot", filled=False),
    "aromma-libol": Style(OLIVE, "8", "dot", filled=False),
    "averaged-perceptron": Style(GREY, "s", "dashdot", filled=False),
    "averaged-pa": Style(PINK, "^", "dash", filled=False),
    "averaged-pa1": Style(PINK, "v", "dashdot", filled=False),
    "alma": Style(TEAL, "8", "dash", filled=False),
    "ogd": Style(TEAL, "d", "dot", filled=False),
    "sgd": Style(TEAL, "p", "dashdot", filled=False),
    "adagrad": Style(SKY, "o", "dash", filled=False),
    "adagrad-da": Style(SKY, "d", "dot", filled=False),
    "ftrl": Style(ORANGE, "s", "dash", filled=False),
    "tg": Style(INDIGO, "<", "dash", filled=False),
    "fobos": Style(INDIGO, ">", "dot", filled=False),
    "rda": Style(INDIGO, "h", "dashdot", filled=False),
    "adam": Style(SKY, "^", "dashdot", filled=False),
    "sop": Style(INDIGO, "X"),
    "sop-libol": Style(INDIGO, "p", "dashdot"),
    "iellip": Style(WINE, "P"),
    "ons": Style(WINE, "D"),
    "cw": Style(BLUE, "o"),
    "cw-libol": Style(BLUE, "p", "dashdot"),
    "arow-libol": Style(GREEN, "p", "dashdot"),
    "scw1-libol": Style(VERMILLION, "p", "dashdot"),
    "cw-var": Style(BLUE, "8", "dashdot"),
    "nherd": Style(SKY, "s"),
    "arow": Style(GREEN, "^"),
    "narow": Style(ORANGE, "v"),
    "narow2010": Style(ORANGE, "d", "dashdot"),
    "scw1": Style(VERMILLION, "*"),
    "scw2": Style(BLACK, "D"),
    "scw2-libol": Style(BLACK, "h", "dashdot"),
    "naive-bayes": Style(OLIVE, "P", "dot", filled=False),
    "maxent": Style(ORANGE, "X", "dot", filled=False),
    "svm": Style(WINE, "d", "dot", filled=False),
    "adviceptron": Style(VERMILLION, "8"),
    "adviceptron-printed": Style(VERMILLION, "v", "dashdot"),
    "adviceptron-exact": Style(BLUE, "D"),
    "kbsvm": Style(GREEN, "s", "dashdot"),
    "rules-alone": Style(INDIGO, "o", "dash", filled=False),
    "majority": Style(GREY, "X", "dot", filled=False),
    "always-no": Style(GREY, "P", "dot", filled=False),
    "no-change": Style(BLACK, "_", "dot", filled=False),
    "majority-so-far": Style(GREY, "_", "dot", filled=False),
}
#: The variants of CW under the names that cw2012 and cw2008 give them. Cool colours for the constraint on the
#: variance, warm ones for that on the standard deviation.
VARIANTS: dict[str, Style] = {
    "var-KL": Style(BLUE, "s"),
    "var-L2": Style(SKY, "^", "dashdot"),
    "var-Exact": Style(INDIGO, "D", "dash"),
    "stdev-KL": Style(VERMILLION, "o"),
    "stdev-L2": Style(ORANGE, "<", "dashdot"),
    "stdev-Exact": Style(WINE, "X", "dash"),
    "var-full": Style(BLUE, "h"),
    "var-diag": Style(SKY, "v", "dashdot"),
    "stdev-full": Style(VERMILLION, "P"),
    "stdev-diag": Style(ORANGE, ">", "dashdot"),
}
_HUES = (TEAL, WINE, INDIGO, SKY, OLIVE, PINK, BLUE, ORANGE, GREEN, GREY)
_MARKERS = ("d", "8", "p", "h", "<", ">", "P", "X", "s", "o", "^", "v", "D")
#: Highlighted algorithms have these colours, which no other has; beside them, more than FEW others turn grey.
HIGHLIGHTS = ("#d6007f", "#1b4dff", "#7a4a00", "#007a3d")
THICK, FEW, MUTED = 2.2, 6, ("#bebebe", 0.74)
#: The least luminance of a line on a dark background: WCAG asks for a contrast of 3.
BRIGHT = 0.18


def styles(
    labels: Iterable[str], highlighted: Container[str] = (), among: Iterable[str] = ()
) -> dict[str, Style]:
    """Return a style for every label, no two alike: a further entry takes the least used hue and marker.

    `among` are all labels of the run, so that each looks the same when some are left out.

    >>> look = styles(["arow (r=1.0)", "arow (r=0.1)", "mine"])
    >>> look["arow (r=1.0)"] == STYLES["arow"], look["mine"].colour == look["arow (r=0.1)"].colour
    (True, False)
    """
    labels = list(dict.fromkeys(labels))
    everyone = list(dict.fromkeys((*among, *labels)))
    known = STYLES | VARIANTS
    # The first entry of an algorithm has the algorithm's style.
    first = {algorithm_of(label): label for label in reversed(everyone)}
    taken = {
        label: known[id] for label in everyone if first[id := algorithm_of(label)] == label and id in known
    }
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
    dashes: tuple[Dash, ...] = ("dashdot", "solid", "dash", "dot")
    free = (
        Style(hue, marker, dash)
        for dash in dashes
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
    """Return a colour with enough white added to be seen on a dark background; black turns white.

    >>> on_dark("#e69f00"), on_dark("#000000")
    ('#e69f00', '#ffffff')
    """
    lighter = (mix(colour, "#ffffff", share / 20) for share in range(21))
    return "#ffffff" if colour == BLACK else next(each for each in lighter if _luminance(each) >= BRIGHT)


def _luminance(colour: str) -> float:
    """Return WCAG's relative luminance, with the usual power of 2.2 for sRGB's curve."""
    red, green, blue = (math.pow(channel / 255, 2.2) for channel in bytes.fromhex(colour[1:]))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
