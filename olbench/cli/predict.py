"""olbench predict: what a model says of new rows."""

from pathlib import Path

import click

from olbench.cli.flags import OUTPUT
from olbench.cli.output import say
from olbench.report.grid import count


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", metavar="FILE", type=click.Path(path_type=Path))
@OUTPUT
def command(model: Path, data: Path, output: Path | None) -> None:
    """Predict the rows of FILE with a MODEL that `olbench train` wrote.

    FILE has the format of the data that the model was trained on: LIBSVM text, or a table with the same
    headings. Prints CSV: the row, counted from 1, the predicted label, and its score; for two classes the
    score is the margin, so positive numbers stand for the positive class. If FILE has labels as well, the
    mistakes are counted on standard error.

    \b
    Examples:
      olbench predict model.npz new.csv
      olbench predict model.npz new.libsvm --output predictions.csv
    """
    import csv
    import io

    import numpy as np

    from olbench.cli.output import deliver
    from olbench.errors import UserError
    from olbench.models import load_model

    trained = load_model(model)
    if not data.is_file():
        raise UserError(f"there is no file {data}")
    X, labels = trained.read(data)
    predicted, margins = trained.predict(X), trained.estimator.margins(X)
    scores = margins.max(axis=1) if margins.shape[1] > 1 else margins[:, 0]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["row", "predicted", "score"])
    shown = [f"{label:g}" if isinstance(label, float) else str(label) for label in predicted.tolist()]
    rows.writerows(zip(range(1, len(shown) + 1), shown, scores.tolist(), strict=True))
    deliver(text.getvalue(), output, "table of predictions")
    known = None if labels is None else np.isin(labels, trained.estimator.classes_)
    if labels is not None and known is not None and known.any():
        wrong = int(np.count_nonzero(predicted[known] != labels[known]))
        labelled = int(known.sum())
        say(
            f"{count(wrong, 'mistake')} in {labelled:,} rows with a label ({100 * wrong / labelled:.2f} %)",
            err=True,
        )
