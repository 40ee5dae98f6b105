"""``completion``: a script that completes commands and options in a shell.

click makes the script; for bash it is our own, since bash splits words at the colon in a command's name. Completing
imports only a command's options and reads nothing from the network.
"""

from typing import Final

import click
from click import Command
from click.shell_completion import get_completion_class

from service_cli.ui.command import command

_BASH: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value word prefix="" words=() i
    # With a colon among COMP_WORDBREAKS, bash passes "a:b" as three words and replaces the last one only.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 1)) && [[ $COMP_WORDBREAKS == *:* && ( $word == :* || ${COMP_WORDS[i-1]} == *: ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
    done
    word=${words[${#words[@]}-1]}
    if [[ $COMP_WORDBREAKS == *:* && $word == *:* ]]; then
        prefix=${word%%"${word##*:}"}
    fi
    i=$((${#words[@]} - 1))
    response=$(COMP_WORDS="${words[*]}" COMP_CWORD=$i %(complete_var)s=bash_complete "$1" 2>/dev/null)
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<<"$completion"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            COMPREPLY+=("${value#"$prefix"}")
        fi
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


def script(shell: str, root: Command) -> str:
    """Return the script for a shell."""
    found = get_completion_class(shell)
    if found is None:
        raise ValueError("no such shell")
    maker = found(root, {}, "service-cli", "_SERVICE_CLI_COMPLETE")
    source = _BASH if shell == "bash" else maker.source_template
    return (source % maker.source_vars()).strip() + "\n"


SHELLS = ("bash", "zsh", "fish")


@command("completion", "completion", network=False)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands, options, paths and networks in your shell.

    \b
    bash: mkdir -p ~/.local/share/bash-completion/completions
          service-cli completion bash \\
            > ~/.local/share/bash-completion/completions/service-cli
    zsh:  service-cli completion zsh > "${fpath[1]}/_service-cli"
    fish: mkdir -p ~/.config/fish/completions
          service-cli completion fish \\
            > ~/.config/fish/completions/service-cli.fish

    \b
    Reads:   nothing
    Prints:  the script (this command and help print text; all others print events)
    Examples: service-cli completion bash
    """

    click.echo(script(shell, click.get_current_context().find_root().command), nl=False)
