"""`hakobi completion`: what a shell completes the command's words by."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion of commands and options for a shell.

    \b
    eval "$(hakobi completion bash)"     # in ~/.bashrc
    eval "$(hakobi completion zsh)"      # in ~/.zshrc, after compinit
    hakobi completion fish > ~/.config/fish/completions/hakobi.fish
    """
    from click import shell_completion

    from hakobi import cli

    found = shell_completion.get_completion_class(shell)
    assert found is not None
    click.echo(found(cli.make_root(), {}, "hakobi", "_HAKOBI_COMPLETE").source())
    return 0
