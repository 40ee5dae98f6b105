"""Characters that a reader does not see, or that show text in another order than it has.

Unicode's default-ignorable characters, the controls of direction, separators of lines and the blank Braille pattern.
Two joiners and two variation selectors stay where writing needs them: after a letter that is not ASCII (Persian, Indic
scripts, emoji) or before the mark of a key cap; a joiner also needs a letter behind it.
"""

import re
from typing import Final

UNSEEN_RANGES: Final = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164),
    (0xFE00, 0xFE0D), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)  # fmt: skip
"""First and last code points; ``JOINERS`` and ``SELECTORS`` are not among them."""
JOINERS: Final = "\u200c\u200d"
SELECTORS: Final = "\ufe0e\ufe0f"

_CLASS: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSEEN_RANGES)
UNSEEN: Final = re.compile(
    f"[{_CLASS}]|(?<![^\x00-\x7f{JOINERS}])[{JOINERS}]|[{JOINERS}](?![^\x00-\x7f])"
    f"|(?<![^\x00-\x7f{JOINERS}{SELECTORS}])[{SELECTORS}](?!\u20e3)"
)
"""One such character, with the joiners and selectors that join nothing."""
_ANY: Final = re.compile(f"[{_CLASS}{JOINERS}{SELECTORS}]")


def without_unseen(text: str) -> str:
    """Return the text without any unseen character, joiners included, for a comparison."""
    return _ANY.sub("", text)
