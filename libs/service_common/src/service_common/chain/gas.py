"""What this project's programs offer for gas: a bound, since an endpoint that suggests a price may lie about it."""

from typing import Final

GWEI: Final = 10**9
MAX_FEE_WEI: Final = 500 * GWEI
"""The most that is offered for a unit of gas, tip included, unless somebody decides otherwise."""
