"""One figure, as it is reported.

Each figure is one JSON object per line with ``id``, ``value``, ``unit``, ``reference``, ``reference_value``, ``ratio``,
``goal`` and ``ok``; a figure without a reference has null there. The value is the median of its rounds.
"""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement. ``ok`` is whether the goal is met, or None if it is only informative."""

    id: str
    value: float
    unit: str
    goal: str
    ok: bool | None
    reference: str | None = None
    reference_value: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the reference's."""
        return None if not self.reference_value else round(self.value / self.reference_value, 3)

    def line(self) -> str:
        """Return the JSON line."""
        fields = {
            "id": self.id,
            "value": round(self.value, 3),
            "unit": self.unit,
            "reference": self.reference,
            "reference_value": None if self.reference_value is None else round(self.reference_value, 3),
            "ratio": self.ratio,
            "goal": self.goal,
            "ok": self.ok,
        }
        return json.dumps(fields)


Report = Callable[[Figure], None]


def median(values: Sequence[float]) -> float:
    """Return the median of several rounds."""
    return float(statistics.median(values))
