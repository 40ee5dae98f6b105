"""``service-web``: the process that answers with pages."""

from collections.abc import Sequence

import urllib3
from service_common import log
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check
from service_common.web.server import serve

from service_web.config import PagesConfig, read_config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    processes = {"serve": Process("answer HTTP requests with pages", _serve)}
    return run_entry_point("service-web", "The pages of the service, for people.", processes, arguments)


def _serve(environment: Environment) -> None:
    config = read_config(environment)
    log.configure("web", config.log_level)
    serve(
        "service_web.wsgi:application",
        host=config.web.host,
        port=config.web.port,
        internal_port=config.web.internal_port,
        checks=_checks(config),
    )


def _checks(config: PagesConfig) -> dict[str, Check]:
    """The readiness check: that the API answers at all. Pages are shown without it, as far as they can be."""
    http = urllib3.PoolManager(maxsize=1, retries=False, timeout=urllib3.Timeout(connect=1.0, read=2.0))

    def api() -> None:
        answer = http.request("GET", f"{config.api_url}/healthz", redirect=False, preload_content=False)
        answer.close()
        if answer.status != 200:
            raise OSError("the API does not answer")

    return {"api": api}
