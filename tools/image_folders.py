"""Which images there are, and where the sources of each are."""

from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
SERVICES: Final = sorted(each.parent.name for each in (TOP / "services").glob("*/pyproject.toml"))
FOLDERS: Final = {**{name: f"services/{name}" for name in SERVICES}, "audit": "clients/audit", "mcp": "clients/mcp"}
"""The services, of which a stack runs, the audit, and the reading tools for agents."""
