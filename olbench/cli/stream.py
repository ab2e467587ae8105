"""olbench run -: learn from standard input, one pass, with a line of running mistakes every so often."""

import json
import sys
import time
from contextlib import ExitStack

import click

from olbench.cli.output import ignore_closed_output, say
from olbench.config.specs import Config
from olbench.data.readers.compressed import STDIN, open_content, show_path
from olbench.engine.stopping import stop_on_interrupt
from olbench.engine.stream import LineStream, RunningCounts, enter
from olbench.errors import UserError, count


def run_stream(config: Config, every: int, as_json: bool, quiet: bool) -> int:
    """Run the algorithms of a config over standard input, print the counts and return the exit code."""
    positive = config.datasets[0].positive or ()
    words = [label for label in positive if isinstance(label, str)]
    if words:
        raise UserError(f"the labels of LIBSVM text are numbers, so --positive cannot be {words[0]!r}")
    with ExitStack() as stack:
        # Ctrl-C in the middle of the compiler would be lost or leave a traceback, so it is caught before.
        stop = stack.enter_context(stop_on_interrupt())
        stream = LineStream(enter(config), tuple(map(float, positive)), every)
        lines = _Lines(stream, as_json)
        started = time.perf_counter()
        stack.enter_context(ignore_closed_output())
        # Opening reads the first bytes, for which it may have to wait.
        source = stop.or_none(lambda: stack.enter_context(open_content(STDIN)))
        reports = stream.run(source, show_path(STDIN)) if source else iter(())
        while (report := stop.or_none(lambda: next(reports, None))) is not None:
            if not quiet:
                lines.show(report)
        lines.conclude(stop.is_set(), time.perf_counter() - started)
    if stop.is_set():
        learnt = min(entrant.learner.rounds for entrant in stream.entrants)  # a rule may not have stopped
        say(f"olbench: stopped after {count(learnt, 'example')}", err=True)
        return 130
    return 0


class _Lines:
    """Prints running counts and final ones. With JSON, only the latter go to standard output."""

    WIDTH = 12

    def __init__(self, stream: LineStream, as_json: bool):
        self.stream, self.as_json = stream, as_json
        self.last = RunningCounts(0, (0,) * len(stream.entrants))

    def show(self, report: RunningCounts) -> None:
        """Print a line: the mistakes so far, their rate, and the rate since the line before."""
        names = [each.name for each in self.stream.entrants]
        widths = [max(self.WIDTH, len(name) + 2) for name in names]
        if not self.last.examples:
            heads = (
                f"{name:>{width}}{'rate':>9}{'recent':>9}" for name, width in zip(names, widths, strict=True)
            )
            self._print(f"{'examples':>{self.WIDTH}}" + "".join(heads))
        rounds = report.examples - self.last.examples
        cells = (
            f"{count:>{width},}{count / report.examples:>9.4f}{(count - earlier) / rounds:>9.4f}"
            for count, earlier, width in zip(report.mistakes, self.last.mistakes, widths, strict=True)
        )
        self._print(f"{report.examples:>{self.WIDTH},}" + "".join(cells))
        self.last = report

    def conclude(self, stopped: bool, seconds: float) -> None:
        """Print the final counts."""
        stream = self.stream
        rows = [{"dataset": "stdin", **entrant.describe()} for entrant in stream.entrants]
        if self.as_json:
            facts = {"examples": stream.examples, "features": stream.features, "stopped": stopped}
            click.echo(json.dumps({**facts, "seconds": round(seconds, 3), "rows": rows}))
            return
        for entrant in stream.entrants:
            learner = entrant.learner
            rate = f" ({learner.mistakes / learner.rounds:.4f})" if learner.rounds else ""
            mistakes, examples = count(learner.mistakes, "mistake"), count(learner.rounds, "example")
            updates, features = count(learner.updates, "update"), count(stream.features, "feature")
            broken = count(learner.breakdowns, "breakdown").upper()
            warning = f"; {broken}: rescale the data" if learner.breakdowns else ""
            say(f"{entrant.name}: {mistakes} in {examples}{rate}, {updates}, {features}{warning}")

    def _print(self, line: str) -> None:
        say(line, err=self.as_json)
        (sys.stderr if self.as_json else sys.stdout).flush()
