"""Quantities of Kubernetes."""

import re
from decimal import Decimal
from typing import Final

_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?([numkKMGTPE]i?)?")
_BINARY: Final = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL: Final = {letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)}
_SMALL: Final = {"m": Decimal("0.001"), "u": Decimal("0.000001"), "n": Decimal("0.000000001")}


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity such as ``256Mi``, ``1.5G``, ``500m`` or ``2e9``."""
    found = _QUANTITY.fullmatch(text)
    scales = {"": Decimal(1), **_BINARY, **_DECIMAL, **_SMALL}
    if found is None or (found[3] or "") not in scales or (found[2] and found[3]):
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(found[1] + (found[2] or "")) * scales[found[3] or ""]
