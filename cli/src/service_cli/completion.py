"""Shell completion, made by click and mended where commands hold a colon.

Promises: completing imports no command's work, only its options; nothing is read from the network.
"""

from click.shell_completion import get_completion_class

_BASH_WORDS = "# A colon is part of a command's name, not the end of a word.\nCOMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n"


def script(shell: str) -> str:
    """The script for a shell."""
    from service_cli.main import group

    found = get_completion_class(shell)
    if found is None:
        raise ValueError("no such shell")
    maker = found(group, {}, "service-cli", "_SERVICE_CLI_COMPLETE")
    source = maker.source_template % maker.source_vars()
    return (_BASH_WORDS if shell == "bash" else "") + source.strip() + "\n"
