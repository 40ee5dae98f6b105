"""The pages about the client against the code: what they name exists, and their examples parse."""

import re
import shlex
from pathlib import Path

import pytest

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
