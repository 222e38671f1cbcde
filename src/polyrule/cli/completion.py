"""``polyrule completion``: the script that makes a shell complete polyrule's commands."""

from __future__ import annotations

import click

from polyrule.cli.command import command


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    r"""Print the completion script for SHELL.

    \b
    Examples:
      polyrule completion bash >> ~/.bashrc
      polyrule completion zsh > ~/.zfunc/_polyrule
      polyrule completion fish > ~/.config/fish/completions/polyrule.fish
    """
    from click.shell_completion import get_completion_class

    from polyrule.cli.app import app

    script_class = get_completion_class(shell)
    assert script_class is not None, "click knows these three shells"
    click.echo(script_class(app, {}, "polyrule", "_POLYRULE_COMPLETE").source())
