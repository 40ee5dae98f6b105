"""An account at work on one deployment, over its chain and its API."""

from dataclasses import dataclass
from functools import cached_property

from service_cli.api import ApiClient, api_of
from service_cli.chain.session import ChainClient, S, S_co, Session
from service_cli.config.settings import Settings


@dataclass(frozen=True)
class ApiSession(Session[S_co]):
    """A session that calls the API, too."""

    @staticmethod
    def open(settings: Settings, signer: S) -> "ApiSession[S]":
        """A session on a chain that was checked to be the deployment's."""
        return ApiSession(ChainClient.checked(settings), signer)

    @cached_property
    def api(self) -> ApiClient:
        """The deployment's API; its address is needed only once something is asked of it."""
        return api_of(self.settings, self.chain)
