"""``completion``: a script that completes this command in a shell."""

import click

from service_cli.command import command

SHELLS = ("bash", "zsh", "fish")


@command("completion", "completion", network=False)
@click.option("--program", type=click.Choice(["service-cli", "service-audit"]), default="service-cli")
@click.argument("shell", type=click.Choice(SHELLS))
def run(shell: str, program: str) -> None:
    """Print the script that completes commands and options in your shell.

    \b
    bash: mkdir -p ~/.local/share/bash-completion/completions
          service-cli completion bash \\
            > ~/.local/share/bash-completion/completions/service-cli
    zsh:  service-cli completion zsh > "${fpath[1]}/_service-cli"
    fish: mkdir -p ~/.config/fish/completions
          service-cli completion fish \\
            > ~/.config/fish/completions/service-cli.fish

    With --program service-audit it is that program's script, for a file of that name.

    \b
    Reads:   nothing
    Prints:  the script (this command and help print text; all others print events)
    Refuses: another shell
    Examples: service-cli completion bash
    """
    from service_cli.completion import script

    click.echo(script(shell, program), nl=False)
