"""Everything that is derived from code and committed."""

from typing import Final

from tools.generate.agents import AGENTS
from tools.generate.catalogue import CATALOGUE
from tools.generate.challenge import CHALLENGE
from tools.generate.derived import Derived
from tools.generate.gas import GAS
from tools.generate.hub import HUB
from tools.generate.interface import INTERFACE, SIGNED
from tools.generate.page_scripts import PAGE_SCRIPTS
from tools.generate.specification import SPECIFICATION
from tools.generate.subgraph import LIMITS, TABLE
from tools.generate.typescript import TYPESCRIPT
from tools.generate.vectors import VECTORS
from tools.generate.world import WORLD

DERIVED: Final[tuple[Derived, ...]] = (
    HUB, VECTORS, TYPESCRIPT, PAGE_SCRIPTS, CATALOGUE, INTERFACE, SIGNED, LIMITS, TABLE,
    SPECIFICATION, AGENTS, GAS, CHALLENGE, WORLD,
)  # fmt: skip
"""In this order: what one writes, those after it may be made from."""
