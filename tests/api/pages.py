"""Challenge pages for tests: the example, with terms that fit the chain's present time."""

import re

from demo.examples import EXAMPLES

from tests.world import World

JUDGING = 1_000


def page_for(world: World, *, title: str = "A page", deadline: int | None = None, **replaced: str) -> bytes:
    """The example page with a deadline ahead of the chain; ``replaced`` swaps whole frontmatter lines."""
    text = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8")
    lines = {
        "submission_deadline": str(deadline or world.time() + 1_000),
        "judging_window_seconds": str(JUDGING),
        "title": title,
        **replaced,
    }
    for name, value in lines.items():
        line = f"{name}: {value}".replace("\\", r"\\")
        text, count = re.subn(rf"(?m)^{name}: .*$", line, text)
        assert count == 1
    return text.encode()
