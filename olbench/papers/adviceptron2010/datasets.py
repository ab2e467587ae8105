"""The data of section 5: clusters in the plane, and isolates of tuberculosis from a list of spoligotypes."""

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from olbench.data.catalog import CatalogEntry, add_datasets
from olbench.data.compressed import read_content
from olbench.data.formats import reader
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.learners.examples import Floats

#: The families of SITVIT2's list that belong to each lineage of the M. tuberculosis complex: East-Asian,
#: East-African-Indian, Euro-American, Indo-Oceanic, M. africanum and M. bovis.
LINEAGES = {
    1: ("Beijing",),
    2: ("CAS",),
    3: ("H", "LAM", "T", "X", "S", "Cameroon", "Turkey", "Ural"),
    4: ("EAI",),
    5: ("AFRI",),
    6: ("BOV",),
}
#: Lineages with more than one repeat at the locus MIRU24; the others are modern.
ANCESTRAL = (4, 5, 6)
COUNTRY, SPACERS = "US", 43
COLUMNS = ("Spoligo Binary", "Lineage (SITVIT2)", "Country Distribution (SITVIT2)")


@reader("clusters", files=0)
def draw_clusters(entry: CatalogEntry) -> "tuple[Floats, Floats]":
    """Draw two small positive clusters that overlap with a wide one; read off adviceptron2010, Figure 1."""
    random = np.random.default_rng(entry.generator["seed"])  # type: ignore[arg-type]
    quarter = entry.rows // 4
    clusters = (([-1.0, 2.0], 0.5, quarter), ([2.0, 1.0], 0.5, quarter), ([-0.5, -1.0], 1.5, 2 * quarter))
    X = np.concatenate([np.array(at) + width * random.standard_normal((n, 2)) for at, width, n in clusters])
    y = np.repeat([1.0, -1.0], 2 * quarter)
    order = random.permutation(entry.rows)
    return X[order], y[order]


@reader("spoligotypes", version=1)
def read_isolates(path: Path, entry: CatalogEntry) -> "tuple[Floats, Floats]":
    """Read the isolates of the USA, without unknown lineages and patterns with an unread spacer."""
    patterns: list[list[float]] = []
    labels: list[int] = []
    content = read_content(path).decode("utf-8-sig", errors="replace")
    lines = csv.DictReader(io.StringIO(content))
    for name in COLUMNS:
        if name not in (lines.fieldnames or ()):
            raise UserError(f"{path}:1: there is no column with the heading '{name}'")
    for line in lines:
        pattern, family, countries = (line[name] or "" for name in COLUMNS)
        if not re.fullmatch(f"[no?]{{{SPACERS}}}", pattern):
            raise UserError(
                f"{path}:{lines.line_num}: '{pattern}' is not a pattern of {SPACERS} spacers, n or o"
            )
        lineage = lineage_of(family)
        isolates = re.search(rf"\b{COUNTRY}=(\d+)", countries)
        if lineage is None or isolates is None or "?" in pattern:
            continue
        patterns += [[float(spacer == "n") for spacer in pattern]] * int(isolates[1])
        labels += [lineage] * int(isolates[1])
    if not labels:
        raise UserError(f"{path} has no isolates of the country {COUNTRY}")
    X, numbers = np.array(patterns), np.array(labels, dtype=np.float64)
    if entry.generator:
        X = np.column_stack([X, simulate_miru24(numbers, **entry.generator)])  # type: ignore[arg-type]
    return X, numbers


def lineage_of(family: str) -> int | None:
    """Return the number of the lineage that a family or subfamily of the list belongs to, or None.

    >>> lineage_of("LAM11-ZWE"), lineage_of("H3"), lineage_of("Manu2"), lineage_of("Unknown")
    (3, 3, None, None)
    """
    stem = re.match(r"[A-Za-z]*?(?=[\d_-]|$)", family)
    return next((number for number, families in LINEAGES.items() if stem and stem[0] in families), None)


def simulate_miru24(labels: "Floats", seed: int, flips: float) -> "Floats":
    """Draw MIRU24, which is not in the list: 2 for ancestral and 1 for modern lineages, some exchanged."""
    repeats = np.where(np.isin(labels, ANCESTRAL), 2.0, 1.0)
    flipped = np.random.default_rng(seed).random(labels.size) < flips
    return np.where(flipped, 3.0 - repeats, repeats)


add_datasets(Path(__file__).with_name("catalog.yaml"), __name__)
