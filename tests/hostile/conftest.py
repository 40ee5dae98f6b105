"""The servers that the api's own tests use."""

from tests.api.conftest import running_api, service

__all__ = ["running_api", "service"]
