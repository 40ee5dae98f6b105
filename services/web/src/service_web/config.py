"""The configuration of the pages: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass

from service_common.config import EnvironmentReader, parse_count
from service_common.log import parse_level
from service_common.traces.settings import TraceSettings, read_trace_settings
from service_common.web.settings import WebSettings, parse_origin, read_web_settings


@dataclass(frozen=True, slots=True)
class PagesConfig:
    """One deployment's pages. Origins have no path."""

    web: WebSettings
    api_url: str
    """Where this process reaches the public API."""
    pages_url: str
    """Under which origin people reach the pages; feeds, calendars and previews name it."""
    explorer_url: str | None
    """A block explorer with the paths ``/address/…`` and ``/tx/…``; without one nothing is linked."""
    budget_factor: int
    traces: TraceSettings
    log_level: int

    @property
    def public_api_url(self) -> str:
        """Where people reach the API."""
        scheme = self.pages_url.partition("://")[0]
        return f"{scheme}://{self.web.public_host}"


def read_config(environment: Mapping[str, str]) -> PagesConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    web = read_web_settings(reader)
    config = PagesConfig(
        web=web,
        api_url=reader.required("SERVICE_API_URL", parse_origin),
        pages_url=reader.optional("SERVICE_PAGES_URL", parse_origin, f"https://{web.public_host}"),
        explorer_url=reader.optional("SERVICE_EXPLORER_URL", parse_origin, None),
        budget_factor=reader.optional("SERVICE_BUDGET_FACTOR", parse_count, 1),
        traces=read_trace_settings(reader),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config
