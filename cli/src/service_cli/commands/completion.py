"""``completion``: a script that completes this command in a shell."""

import click

from service_cli.command import command

SHELLS = ("bash", "zsh", "fish")


@command("completion", "completion", network=False)
@click.argument("shell", type=click.Choice(SHELLS))
def run(shell: str) -> None:
    """Print the script that completes commands and options in your shell.

    \b
    bash: service-cli completion bash \\
            > ~/.local/share/bash-completion/completions/service-cli
    zsh:  service-cli completion zsh > "${fpath[1]}/_service-cli"
    fish: service-cli completion fish \\
            > ~/.config/fish/completions/service-cli.fish

    \b
    Reads:   nothing
    Prints:  the script (this command and help print text; all others print events)
    Refuses: another shell
    Examples: service-cli completion bash
    """
    from service_cli.completion import script

    click.echo(script(shell), nl=False)
