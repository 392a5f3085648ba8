"""The `wager` command: one table of subcommands, and one place where errors become exit codes.

0: good; 1: the check failed; 2: bad usage or input, said in one line; 130: interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup


class Command(NamedTuple):
    """A subcommand: ``function`` of ``wager.cli.MODULE``, imported when it is asked for.

    A ``typer.Typer`` in its place has subcommands of its own.
    """

    module: str
    function: str
    help: str


COMMANDS = {
    "probe": Command("probe", "probe", "Gate a game, or any environment: passed or failed."),
    "train": Command("train", "train", "Learn a game, watched, resumable and graded."),
    "evaluate": Command("evaluate", "evaluate", "Grade a policy on seeds never trained on."),
    "play": Command("play", "play", "Play an episode: a replay, a table, a picture."),
    "league": Command("league", "league", "Rank agents: play all their matches, rate them."),
    "export": Command("export", "app", "What replays hold, in a format of others."),
    "view": Command("view", "view", "Make of a replay one page that a browser opens."),
    "serve": Command("serve", "serve", "A scripted policy as a chat model, over HTTP."),
    "tokens": Command("tokens", "tokens", "How long the prompts of language-model seats get."),
    "bench": Command("bench", "bench", "Throughput, as ratios from one run on one core."),
}


class Lazy(TyperGroup):
    """Imports a subcommand's module when it runs, so that no command pays for another."""

    table: ClassVar[Mapping[str, Command]] = COMMANDS

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand, its module imported; None if there is no such."""
        if cmd_name not in self.table:
            return None
        command = self.table[cmd_name]
        function = getattr(import_module(f".{command.module}", __package__), command.function)
        if isinstance(function, typer.Typer):  # it has subcommands itself
            return typer.main.get_command(function)
        sub = typer.Typer(add_completion=False, rich_markup_mode=None)
        sub.command(cmd_name)(function)
        return typer.main.get_command(sub)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The help's list, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.table.items()])


app = typer.Typer(
    cls=Lazy,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Games of trade and hidden information for learning agents, and the gate that proves them."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"wager {installed('wager')}")
    elif ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command on ``arguments`` (by default the process's) and return its exit code."""
    command = typer.main.get_command(app)
    words = _with_addresses(sys.argv[1:] if arguments is None else arguments)
    try:
        code = command(args=words, prog_name="wager", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        sys.stderr.close()
        return 1
    except Exception as error:
        message = _users_mistake(error)
        if message is None:
            raise
        print(f"wager: {' '.join(message.split())}", file=sys.stderr)
        return 2
    return code if isinstance(code, int) else 0


def _with_addresses(words: Sequence[str]) -> list[str]:
    """A bare ``--ray`` looks for its cluster; Typer knows no option whose value may be left out.

    Behind ``--`` no word is an option.
    """
    end = [*words, "--"].index("--")
    options = [
        "--ray=auto" if word == "--ray" and then.startswith("-") else word
        for word, then in pairwise([*words[:end], "--"])
    ]
    return [*options, *words[end:]]


def _users_mistake(error: Exception) -> str | None:
    """The one line to say if ``error`` is the user's to mend; None if it is a bug."""
    usage: type[Exception] = typer.BadParameter.__mro__[1]  # UsageError, wherever Typer keeps it
    if isinstance(error, usage):
        return str(error.format_message())  # type: ignore[attr-defined]
    from ..envs.errors import InputError, MissingExtraError

    return str(error) if isinstance(error, InputError | MissingExtraError) else None
