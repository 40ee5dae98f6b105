"""What texts of several commands have in common."""

import pytest
from service_cli.ui.phrases import argument


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("page.md", "page.md"),
        ("my page.md", "'my page.md'"),
        ("-", "PAGE"),
        (None, "PAGE"),
        ("\x1b[2Jpage.md", "PAGE"),
    ],
)
def test_argument__of_a_path__is_what_a_shell_takes_or_its_name_in_the_usage(path: str | None, shown: str) -> None:
    assert argument(path, "PAGE") == shown
