"""The examples of ``tests/README.md``, run as tests of the folders that they are for."""

import re
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("README.md")


def example(folder: str) -> dict[str, object]:
    """Return what the example for a folder defines, for the globals of a module there."""
    (block,) = re.findall(rf"```python\n# {folder}/\S+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    defined: dict[str, object] = {}
    exec(compile(block, PAGE, "exec"), defined)  # noqa: S102  # the block is our own
    return {name: value for name, value in defined.items() if name.startswith("test_")}
