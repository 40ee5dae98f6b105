"""What never changes of a deployment: the Hub's immutables and its beacon, read when first needed and kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from bounty_protocol.chain.beacons import beacon_info
from bounty_protocol.chain.deployment import BeaconRecord
from bounty_protocol.chain.hub_constants import HubConstants, read_agreed_constants
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.crypto.beacon import HttpGet
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.errors import ServiceError
from bounty_protocol.wire.deployment import TokenDescription
from service_common.chain.settings import ChainSettings
from service_common.places import Places


class Constants:
    """The constants of one deployment. Thread-safe."""

    def __init__(self, rpc: Rpc, chain: ChainSettings, beacon: BeaconRecord, relays: HttpGet) -> None:
        self._rpc, self._chain, self._record, self._relays = rpc, chain, beacon, relays
        self._places = Places()

    @cached_property
    def hub(self) -> HubConstants:
        """The Hub's immutables."""
        return read_agreed_constants(self._rpc, self._chain.hub_address, self._chain.chain_id)

    @cached_property
    def beacon(self) -> BeaconInfo:
        """The beacon that opens Submissions; 503 while no relay can describe it."""
        try:
            return beacon_info(self._record, self._relays)
        except SealedDataError as error:
            raise ServiceError(
                "bounty_chain_state_unavailable", "The beacon cannot be reached at the moment."
            ) from error

    def token(self) -> TokenDescription:
        """Return the escrow token, as the Hub names it."""
        with self.reading_once("hub"):
            token = self.hub.token
        return TokenDescription(token.address, token.symbol, token.decimals)

    @contextmanager
    def reading_once(self, *names: str) -> Iterator[None]:
        """Let one request at a time read constants (``hub``, ``beacon``), so that a slow endpoint does not block every
        thread.
        """
        if set(names) <= vars(self).keys():
            yield
            return
        message = "The chain or the beacon has not described itself yet."
        refusal = ServiceError("bounty_chain_state_unavailable", message, retry_after=2)
        with self._places.hold("reading", 1, patience=1.0, refusal=refusal):
            yield
