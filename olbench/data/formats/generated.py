"""Formats of data that is drawn at random or comes with a library."""

from typing import Any

from olbench.data.catalog import CatalogEntry, find
from olbench.data.readers.registry import reader


@reader("scikit-learn", files=0)
def read_bundled(entry: CatalogEntry) -> Any:
    from olbench.data.readers import frames

    return frames.read_bundled(entry.bundled)


@reader("synthetic", files=0)
def draw_gaussian(entry: CatalogEntry) -> Any:
    from olbench.data.generators.synthetic import RotatedGaussian

    settings: dict[str, Any] = {**entry.generator}
    run = settings.pop("run", 0)
    return RotatedGaussian(rows=entry.rows, features=entry.features, **settings).draw(run)


@reader("clusters", files=0)
def draw_clusters(entry: CatalogEntry) -> Any:
    from olbench.data.generators.synthetic import Clusters

    return Clusters(rows=entry.rows, **entry.generator).draw()  # type: ignore[arg-type]


@reader("stream", files=0)
def draw_stream(entry: CatalogEntry) -> Any:
    from olbench.data.entries import read_examples
    from olbench.data.generators import streams

    settings: dict[str, Any] = {**entry.generator}
    if "parts" in settings:  # the names of data sets that need no files
        spliced = [read_examples(find(name), ()) for name in settings["parts"].split("+")]
        settings["parts"] = [(each.X, each.y) for each in spliced]
    return streams.draw_stream(settings.pop("kind"), entry.rows, entry.drifts, **settings)
