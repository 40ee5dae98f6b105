"""A deployment's chain as the client sees it, and an account at work on it.

The first answer of an endpoint counts only with its chain id, the Hub's code, its token and its reveal delay, which are
compared with the configuration; a disagreement is refused. An unreachable endpoint is ``CommandFailed``, never a guess.
"""

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.typed_data import Approval
from bounty_protocol.chain.blocks import Header, NearTip, block_to_sign, header_at
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, network_named
from bounty_protocol.chain.gas import USUAL_COST_WEI
from bounty_protocol.chain.hub import BountyView, Hub
from bounty_protocol.chain.hub_constants import EscrowToken, balance_of, read_token
from bounty_protocol.chain.reverts import explain
from bounty_protocol.chain.rpc import (
    Answers,
    Call,
    ChainNode,
    ChainUnavailable,
    Rpc,
    RpcRefused,
    host_of,
    quantity,
)
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, UnixSeconds, Wei

from service_cli.chain.journal import HubRecords, Journal
from service_cli.chain.signer import Signer
from service_cli.config.settings import Settings
from service_cli.errors import COHERENT, CommandFailed, CommandRefused
from service_cli.ui.output import show_by
from service_cli.ui.text import printable

if TYPE_CHECKING:  # urllib3 is not needed by those who read only the chain
    from service_cli.api import ApiClient


_NEAR_SECONDS: Final = 60.0
_IS_VALID_SIGNATURE: Final = "0x1626ba7e"
"""The selector of ERC-1271, and what the function returns for a signature that it accepts."""
_ERC_6492: Final = bytes.fromhex("6492" * 16)
"""The end of a signature for an account whose code is not on the chain yet."""
S_co = TypeVar("S_co", bound=Signer, covariant=True)


_CHECK_ENDPOINTS: Final = "Check SERVICE_RPC_URL and SERVICE_RPC_URLS, then run the command again."


@contextmanager
def chain_errors() -> Iterator[None]:
    """Turn errors of the chain library into the command's own."""
    try:
        yield
    except ChainUnavailable as error:
        if error.limited:
            host = printable(error.host or "", 100)
            message = f"The RPC endpoint at {host} has a rate limit, and refused this request."
            next_action = f"Try again {error.try_again}, or set SERVICE_RPC_URL to another endpoint."
            raise CommandFailed("chain_unavailable", message, next_action=next_action) from error
        if error.host is None:
            message = f"The chain gave no usable answer: {error}."
        else:
            message = f"The RPC endpoint at {printable(error.host, 100)} gave no usable answer: {error.cause}."
        raise CommandFailed("chain_unavailable", message, next_action=_CHECK_ENDPOINTS) from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        message = "The chain gave an answer of the wrong shape."
        raise CommandFailed("chain_unavailable", message, next_action=_CHECK_ENDPOINTS) from error
    except RpcRefused as error:
        if not error.is_revert:
            message = f"The RPC endpoint refused to answer (error {error.code}); that says nothing about the bounty."
            raise CommandFailed(
                "chain_unavailable", message, next_action="Wait, or use another RPC endpoint."
            ) from error
        refusal = explain(error)
        raise CommandRefused(refusal.code, refusal.message, next_action=refusal.next_action) from error


class _Hub(Hub):
    """The Hub's views, whose errors are the command's own."""

    bounty = chain_errors()(Hub.bounty)
    roster = chain_errors()(Hub.roster)
    current_roster_version = chain_errors()(Hub.current_roster_version)
    announced_roster = chain_errors()(Hub.announced_roster)
    submission = chain_errors()(Hub.submission)
    verdict = chain_errors()(Hub.verdict)
    delivery_key = chain_errors()(Hub.delivery_key)
    announced_delivery_key = chain_errors()(Hub.announced_delivery_key)
    fee_policy = chain_errors()(Hub.fee_policy)


class _Endpoint(Rpc):
    """One endpoint. Its first request asks as well which deployment's it is, and brings nothing of another one."""

    def __init__(self, settings: Settings, url: str) -> None:
        super().__init__([url], patient=True)
        self._settings, self._url, self._is_checked = settings, url, False

    def batch(self, calls: Sequence[Call]) -> list[object]:
        if self._is_checked:
            return super().batch(calls)
        hub = Hub(self, self._settings.hub_address())
        check = [("eth_chainId", []), code_call(hub.address), hub.call("token"), hub.call("revealDelay")]
        answers = super().batch([*check, *calls])
        self._require_deployment(hub.address, Answers.among(check, answers))
        self._is_checked = True
        return answers[len(check) :]

    def _require_deployment(self, address: Address, known: Answers) -> None:
        """Refuse an RPC, Hub, token or reveal delay of another deployment."""
        settings, hub = self._settings, Hub(known, address)
        served = quantity(known.call("eth_chainId"))
        if served != settings.chain_id:
            where = f" at {printable(host_of(self._url), 100)}"
            named = f"chain {network_named(served)}, and this run is for {network_named(settings.chain_id)}"
            raise _incoherent(f"The RPC endpoint{where} serves {named}.")
        if known.answer(code_call(address)) in {"0x", None}:
            raise _incoherent(f"There is no contract at the Hub address {address}.")
        try:
            token, delay = hub.token(), hub.reveal_delay()
        except RpcRefused as error:
            if not error.is_revert:
                raise
            raise _incoherent(f"The contract at {address} is not a Hub.") from error
        if token != settings.escrow_token():
            raise _incoherent(f"The Hub's token is {token}, not {settings.escrow_token()} as configured.")
        if delay != settings.reveal_delay():
            raise _incoherent(f"The Hub's reveal delay is {delay} seconds, not {settings.reveal_delay()}.")


class ChainClient:
    """Reads of one deployment's chain over one endpoint, the first of those that are configured unless named."""

    def __init__(self, settings: Settings, url: str | None = None) -> None:
        self.settings = settings
        self.url = url or settings.rpc_url()
        self.chain_id = settings.chain_id
        self.agreed_cost = USUAL_COST_WEI if settings.max_cost is None else settings.max_cost
        """The greatest fee of one transaction of this run, in wei; a person at the terminal can raise it."""
        self.endpoint = _Endpoint(settings, self.url)
        self.rpc: ChainNode = self.endpoint
        """What answers the reads: the endpoint, or what one request brought (``ask``)."""
        if url is None:
            show_by(token=lambda: self.token)
        self.hub = _Hub(self.rpc, settings.hub_address())
        self.block: BlockNumber | None = None
        """Where the Hub's views and log are read; None for the newest block."""
        self._near: tuple[NearTip, float] | None = None
        self._further: list[ChainClient] = []

    def at(self, block: BlockNumber) -> "ChainClient":
        """Return the same client with the Hub's views and log as of this block."""
        pinned = copy(self)
        pinned.rpc, pinned.hub, pinned.block = self.endpoint, _Hub(self.endpoint, self.hub.address, block), block
        return pinned

    def ask(self, *calls: Call) -> "ChainClient":
        """Return the same client over what one request brings for these calls; it reads nothing else."""
        with chain_errors():
            known = Answers.of(self.rpc, calls)
        asked = copy(self)
        asked.rpc, asked.hub = known, _Hub(known, self.hub.address, self.hub.block)
        return asked

    @property
    def named(self) -> str:
        """The endpoint as messages name it: by its host, never with a path that may hold a credential."""
        return f"the RPC endpoint at {printable(host_of(self.url), 100)}"

    @property
    def further(self) -> tuple["ChainClient", ...]:
        """The same over each further endpoint that is configured, made once for all that ``at`` and ``ask`` return."""
        if not self._further:
            self._further.extend(ChainClient(self.settings, url) for url in self.settings.further_rpc_urls())
        return tuple(self._further)

    @property
    def everywhere(self) -> tuple["ChainClient", ...]:
        """A client for every configured endpoint, this one first."""
        return self, *self.further

    @property
    def records(self) -> HubRecords:
        """What this machine remembers of its work at this Hub."""
        return HubRecords(self.chain_id, self.hub.address)

    @property
    def is_local(self) -> bool:
        """Whether this is a local chain, where one block is enough."""
        return self.chain_id == LOCAL_CHAIN_ID

    def latest(self) -> Header:
        """Read the newest block; amounts and moments are shown by its time."""
        header = self.header("latest")
        show_by(now=header.time)
        return header

    def header(self, block: BlockNumber | str) -> Header:
        """Read a block's header by its number or its tag."""
        with chain_errors():
            return header_at(self.rpc, block)

    def tip(self) -> BlockNumber:
        """Return where the Hub's log is read to: this client's block, else the newest one."""
        return self.latest().number if self.block is None else self.block

    def final_block(self) -> BlockNumber | str:
        """Return what names the newest final block: the chain's own tag, or without one a number by the deployment's
        depth.
        """
        depth = self.settings.finality_depth()
        return "finalized" if depth is None else BlockNumber(max(0, self.latest().number - depth))

    def finalized(self) -> Header:
        """Read the newest final block."""
        return self.header(self.final_block())

    @cached_property
    def token(self) -> EscrowToken:
        """The escrow token's own description; queried once. Decimals other than the network's record are refused."""
        address = self.settings.escrow_token()
        with chain_errors():
            token = read_token(self.rpc, address)
        self.require_recorded(token)
        return token

    def require_recorded(self, token: EscrowToken) -> None:
        """Refuse decimals other than those in the network's record, if the record has this token."""
        record = self.settings.record
        known = record.escrow_token_decimals if record and record.escrow_token_address == token.address else None
        if known not in {None, token.decimals}:
            raise decimals_mismatch({"the RPC endpoint": token.decimals, "the network's record": known})

    def bounty(self, bounty_id: BountyId) -> BountyView:
        """Read one bounty; refuse an unknown id."""
        view = self.hub.bounty(bounty_id)
        if view is None:
            message = f"The Hub has no bounty {bounty_id}."
            raise CommandRefused("bounty_not_found", message, next_action="Check the bounty id and the network.")
        return view

    def roster(self, version: int, pinned: Bytes32 | None = None) -> Roster:
        """Read a roster whose members hash to the value it carries, and to the ``pinned`` one."""
        view = self.hub.roster(version)
        members = zip(view.accounts, view.encryption_keys, view.last_active_at, strict=True)
        found = tuple(RosterMember(account, key, UnixSeconds(active)) for account, key, active in members)
        roster = Roster(version, view.guardian_roster_hash, view.quorum, found)
        roster.verify(self.chain_id, self.hub.address, pinned)
        return roster

    def pinned_roster(self, bounty: BountyView) -> Roster:
        """Read the bounty's roster."""
        return self.roster(bounty.roster_version, bounty.guardian_roster_hash)

    def current_roster(self) -> Roster:
        """Read the roster that a bounty created now would pin."""
        return self.roster(self.hub.current_roster_version())

    def roster_until(self) -> UnixSeconds | None:
        """Read when an announced roster replaces the current one; None if none is announced."""
        announced = self.hub.announced_roster()
        return None if announced is None else announced[1]

    def note_near(self, head: Header, asked: "ChainClient") -> NearTip:
        """Have requests of the next minute signed over a block near this tip: each is good for five minutes."""
        with chain_errors():
            near = NearTip.of(head, asked.rpc)
        self._near = near, time.monotonic()
        return near

    def approval(self, request: RequestToSign, used: Container[BlockNumber] = ()) -> Approval:
        """Return the message to sign for a request: bound to a block a little behind the tip, and to none of those
        ``used``.

        A key signs the same bytes identically: a second signature over the same block would equal the first one.
        """
        near, read_at = self._near or (None, 0.0)
        if near is None or used or time.monotonic() - read_at > _NEAR_SECONDS:
            head = self.latest()
            near = self.note_near(head, self.ask(*NearTip.calls(head)))
        with chain_errors():
            block = block_to_sign(self.rpc, near, used)
        return request.approval(block.number, block.hash)

    def require_own_rules(self, account: Address, digest: bytes, signature: bytes) -> None:
        """Refuse a signature that a plain key of this account did not make, unless the account is a contract that
        accepts it (ERC-1271). The API decides about one for a contract that is not on the chain yet (ERC-6492).
        """
        if signature.endswith(_ERC_6492):
            return
        if self.has_code(account):
            if self._accepts(account, digest, signature):
                return
            message = f"The contract wallet {account} does not accept this signature. It was not sent."
            next_action = "Have its owners sign exactly the last message shown, then run the command again."
        elif len(signature) in {0, 65}:
            message = f"This is not a signature by {account} of the message shown. It was not sent."
            next_action = "Sign exactly the last message shown, with that account's wallet."
        else:
            return
        raise CommandRefused("signature_mismatch", message, next_action=next_action)

    def _accepts(self, account: Address, digest: bytes, signature: bytes) -> bool:
        """Return whether a contract accepts a signature; what an endpoint refuses to try says nothing about it."""
        padded = signature.hex() + "00" * (-len(signature) % 32)
        data = f"{_IS_VALID_SIGNATURE}{digest.hex()}{64:064x}{len(signature):064x}{padded}"
        with chain_errors():
            answer = self.rpc.batch([("eth_call", [{"to": account, "data": data}, "latest"])])[0]
        if isinstance(answer, RpcRefused):
            return not answer.is_revert
        return str(answer).startswith(_IS_VALID_SIGNATURE)

    def has_code(self, account: Address) -> bool:
        """Return whether an account is a contract, or was delegated to one (EIP-7702)."""
        with chain_errors():
            return self.rpc.answer(code_call(account)) not in {"0x", None}

    def balance(self, account: Address) -> Wei:
        """Read an account's balance in wei."""
        with chain_errors():
            return Wei(quantity(self.rpc.answer(balance_call(account))))

    def token_balance(self, account: Address) -> TokenAmount:
        """Read an account's balance in the smallest units of the escrow token."""
        with chain_errors():
            return balance_of(self.rpc, self.settings.escrow_token(), account)


@dataclass(frozen=True)
class Session(Generic[S_co]):
    """An account at work on one deployment: its signer, the chain, and the API."""

    chain: ChainClient
    signer: S_co

    @cached_property
    def api(self) -> "ApiClient":
        """The deployment's API; its address is needed only once it is used."""
        from service_cli.api import api_of

        return api_of(self.settings, self.chain)

    @property
    def settings(self) -> Settings:
        return self.chain.settings

    @property
    def account(self) -> Address:
        return self.signer.address

    def journal(self, *names: str) -> AbstractContextManager[Journal]:
        """Open the journal of one piece of work on this Hub, held by this process alone."""
        return self.chain.records.open(*names)


def code_call(account: Address) -> Call:
    """Return the call that reads an account's code."""
    return "eth_getCode", [account, "latest"]


def balance_call(account: Address) -> Call:
    """Return the call that reads an account's balance in wei."""
    return "eth_getBalance", [account, "latest"]


def decimals_mismatch(found: Mapping[str, int | None]) -> CommandRefused:
    """Return the refusal for two sources that give a token different decimals: every amount would be shown wrong by
    one.
    """
    named = ", ".join(f"{decimals} by {source}" for source, decimals in found.items())
    message = f"Two sources disagree on the escrow token's decimals: {named}. Nothing was signed."
    next_action = "Use another RPC endpoint or API: one of the two is wrong, and amounts would be wrong with it."
    return CommandRefused("token_decimals_mismatch", message, next_action=next_action)


def _incoherent(message: str) -> CommandRefused:
    return CommandRefused("deployment_mismatch", message, next_action=COHERENT)
