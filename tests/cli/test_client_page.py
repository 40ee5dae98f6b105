"""The pages about the client against the code: what they name exists, and their examples parse."""

import re
import shlex
from pathlib import Path

import pytest
from service_cli.config.settings import LOCAL_VARIABLES
from service_cli.main import COMMANDS, group

from tests.cli.terminal import Terminal

TOP = Path(__file__).parents[2]
PAGE = "".join((TOP / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("client", "scripts", "sending"))
EXAMPLES = re.findall(r"^    (service-cli [^|#\n>]+)", PAGE, re.MULTILINE)


@pytest.mark.parametrize("line", EXAMPLES)
def test_page__an_example__is_a_command_with_options_that_exist(shell: Terminal, line: str) -> None:
    _, name, *words = shlex.split(line)
    if name.startswith("--"):
        assert shell.run(name).stdout
        return
    text = shell.run(name, "--help").stdout
    assert all(word in text for word in words if word.startswith("--"))


def test_page__variables_of_a_deployment__are_named() -> None:
    assert [name for name in (*LOCAL_VARIABLES, "SERVICE_CHAIN_ID", "SERVICE_DEBUG") if f"`{name}`" not in PAGE] == []


def test_page__refusal_codes_it_names__are_ones_the_client_has() -> None:
    sources = "".join(path.read_text() for path in (TOP / "cli" / "src").rglob("*.py"))
    for code in re.findall(r"`((?:transaction|nonce)_[a-z]+)`", PAGE):
        assert f'"{code}"' in sources, code


def test_commands__of_the_table__carry_their_own_name() -> None:
    import click

    with click.Context(group) as context:
        for name in COMMANDS:
            found = group.get_command(context, name)
            assert found is not None
            assert found.name == name
