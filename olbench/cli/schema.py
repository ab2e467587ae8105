"""olbench schema: the JSON schema of configs."""

import json
from pathlib import Path

import click

from olbench.cli.flags import OUTPUT
from olbench.cli.output import deliver


@click.command("schema")
@OUTPUT
def command(output: Path | None) -> None:
    """Print the JSON schema of configs, so that an editor completes and checks them.

    `olbench init` writes it beside the config, whose first line names it:
    # yaml-language-server: $schema=olbench.schema.json

    \b
    Examples:
      olbench schema --output olbench.schema.json
    """
    from olbench.config.schema import make_schema

    deliver(json.dumps(make_schema(), indent=1) + "\n", output, "schema")
