"""What a program uses of this client: a deployment's values from a mapping, events as objects, and one signed request.

``settings_of`` and ``collecting`` read neither the process's environment nor a ``.env`` file, and write nothing to
stdout or stderr. ``sign_request`` makes the header of one protected request and sends nothing: use the HTTP client of
your choice, with the bytes and the URL that were signed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from service_common.auth.sign import RequestToSign, approval_header
from service_common.auth.signature import account_of_key
from service_common.auth.typed_data import SigningDomain, typed_data
from service_common.chain.blocks import header_at
from service_common.chain.json_rpc import JsonRpc, quantity
from service_common.types import Address, BlockNumber, ChainId, parse_address

from service_cli.api import audience_of
from service_cli.config.environment import Environment
from service_cli.config.settings import CHAIN_AND_API, Settings, load_settings
from service_cli.shell.output import OutputSink, redirected

Event = dict[str, object]


def settings_of(
    values: Mapping[str, str], network: str | None = None, needs: Sequence[str] | None = CHAIN_AND_API
) -> Settings:
    """The deployment that ``values`` select, by the names of the client's variables (keys included).

    Raises ``service_common.errors.ServiceError`` where a value is missing or malformed.
    """
    with redirected(OutputSink(lambda _name, _fields: None, lambda _words: None)):
        return load_settings(network, None, needs, environment=Environment(dict(values), {}))


@contextmanager
def collecting(words: Callable[[str], None] = lambda _: None) -> Iterator[list[Event]]:
    """The events of what is called inside, as they come, each with its name under ``event`` (docs/events.md).

    ``words`` gets each sentence that a person would read.
    """
    events: list[Event] = []
    with redirected(OutputSink(lambda name, fields: events.append({"event": name, **fields}), words)):
        yield events


BLOCKS_BEHIND = 3
SignTypedData = Callable[[Mapping[str, object]], bytes]
"""A wallet: EIP-712 typed data to its signature."""


def sign_request(
    method: str,
    url: str,
    body: bytes = b"",
    *,
    rpc_url: str,
    hub_address: str,
    private_key: bytes | None = None,
    wallet: tuple[str, SignTypedData] | None = None,
) -> dict[str, str]:
    """The ``Authorization`` header for exactly this request, signed by a key or by a wallet of your own.

    ``private_key``: 32 bytes. ``wallet``: an address and a function that signs typed data (a hardware wallet, the
    owners of a contract wallet). Raises ``ValueError`` for a malformed argument, ``ChainUnavailable`` where the chain
    cannot be read.
    """
    if (private_key is None) is (wallet is None):
        raise ValueError("give a private_key or a wallet, one of the two")
    address, sign = _of_key(private_key) if private_key is not None else wallet or ("", _nobody)
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("the url of a request starts with http:// or https:// and a host")
    request = RequestToSign(method, parts.path, parts.query, body, audience_of(url))
    rpc = JsonRpc([rpc_url])
    chain_id = ChainId(quantity(rpc.call("eth_chainId")))
    block = header_at(rpc, BlockNumber(max(0, quantity(rpc.call("eth_blockNumber")) - BLOCKS_BEHIND)))
    approval = request.approval(block.number, block.hash)
    signature = sign(typed_data(SigningDomain(chain_id, parse_address(hub_address)), approval))
    return {"Authorization": approval_header(parse_address(address), signature, approval)}


def _of_key(private_key: bytes) -> tuple[Address, SignTypedData]:
    def sign(data: Mapping[str, object]) -> bytes:
        from service_cli.chain.signer import eth_account

        return bytes(eth_account().sign_typed_data(private_key, full_message=dict(data)).signature)

    return account_of_key(private_key), sign


def _nobody(_data: Mapping[str, object]) -> bytes:
    raise ValueError("nobody signs")
