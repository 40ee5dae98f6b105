"""The commands: each parses its arguments and calls what does the work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from service_cli.ui.command import kept

if TYPE_CHECKING:
    from service_cli.config.environment import Environment
    from service_cli.config.settings import Settings


def load_deployment(needs: Sequence[str] | None, environment: "Environment | None" = None) -> "Settings":
    """Load the settings of the deployment that the command's options choose; ``needs`` as in ``load_settings``."""
    from service_cli.config.settings import load_settings

    return load_settings(kept("network"), kept("api_base_url"), needs, environment, kept("max_cost"))
