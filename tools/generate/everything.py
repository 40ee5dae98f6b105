"""Everything that is derived from code and committed."""

from typing import Final

from tools.generate.agents import AGENTS
from tools.generate.audit import AUDIT
from tools.generate.derived import Derived
from tools.generate.gas import GAS
from tools.generate.hub import HUB
from tools.generate.page_scripts import PAGE_SCRIPTS
from tools.generate.pages import PAGES
from tools.generate.specification import SPECIFICATION
from tools.generate.typescript import TYPESCRIPT
from tools.generate.vectors import VECTORS

DERIVED: Final[tuple[Derived, ...]] = (
    HUB, VECTORS, TYPESCRIPT, PAGE_SCRIPTS, SPECIFICATION, *PAGES, AGENTS, GAS, AUDIT,
)  # fmt: skip
"""In this order: what one writes, those after it may be made from."""
