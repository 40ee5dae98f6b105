"""docs/poster.md: its example can be published as it stands."""

import re
from pathlib import Path

from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.types import UnixSeconds

DOCUMENT = (Path(__file__).parents[2] / "docs/poster.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"(?ms)^```markdown\n(.*?)^```$", DOCUMENT)


def test_example_can_be_published_as_it_is() -> None:
    content = EXAMPLE.encode()
    parsed = parse_challenge(content)
    now = UnixSeconds(parsed.submission_deadline - 864_000)
    assert review(Material(parsed, content, now, 3_600)) == ()
