"""olbench completion: let the shell complete verbs, options and names."""

import os
from pathlib import Path

import click

from olbench.cli import Actions, cli
from olbench.cli.output import say
from olbench.errors import UserError
from olbench.files import write_text

#: A line that loads a script. zsh completes nothing before compinit.
LOAD = '[ -f "{script}" ] && . "{script}"'
COMPINIT = "(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}; "
#: The startup file of each shell and the line for it; fish finds the script by its place.
STARTUP = {"bash": (".bashrc", LOAD), "zsh": (".zshrc", COMPINIT + LOAD), "fish": None}


@click.group("completion", cls=Actions)
def command() -> None:
    """Let the shell complete verbs, options and names.

    \b
    Examples:
      olbench completion install
      olbench completion install zsh
    """


@command.command("install")
@click.argument("shell", required=False, type=click.Choice(list(STARTUP)))
@click.option("--print", "printed", is_flag=True, help="Print the script and change no file.")
def install(shell: str | None, printed: bool) -> None:
    """Install the completion for SHELL [default: that of $SHELL], and say which files were changed.

    bash and zsh get one line in ~/.bashrc or ~/.zshrc, which loads the script. It works in new shells.

    \b
    Examples:
      olbench completion install
      olbench completion install bash --print
    """
    from click.shell_completion import get_completion_class

    shell = shell or _find_shell()
    maker = get_completion_class(shell)
    if maker is None:
        raise UserError(f"this version of click has no completion for {shell}")
    source = maker(cli, {}, "olbench", "_OLBENCH_COMPLETE").source()
    if printed:
        click.echo(source)
        return
    script = _find_script(shell)
    changed = [script] if _update(script, source) else []
    if (startup := STARTUP[shell]) is not None:
        name, line = startup
        path = Path(os.environ.get("ZDOTDIR") or Path.home()) if shell == "zsh" else Path.home()
        changed += [path / name] if _add_line(path / name, line.format(script=script)) else []
    for path in changed:
        say(f"{path} written")
    say("it works in new shells" if changed else "it is installed already; no file was changed")


def _find_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in STARTUP:
        raise UserError(f"$SHELL is '{name}', for which there is no completion; name {', '.join(STARTUP)}")
    return name


def _find_script(shell: str) -> Path:
    if shell == "fish":
        config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(config) / "fish" / "completions" / "olbench.fish"
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "olbench" / f"completion.{shell}"


def _update(path: Path, content: str) -> bool:
    """Write a file unless it has this content, and return whether it was written."""
    if path.is_file() and path.read_text(encoding="utf-8") == content:
        return False
    write_text(path, content)
    return True


def _add_line(path: Path, line: str) -> bool:
    """Add a line at the end of a file unless it is there, and return whether it was added."""
    content = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
    if line in content.splitlines():
        return False
    gap = "" if not content or content.endswith("\n") else "\n"
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{gap}{line}\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None
    return True
