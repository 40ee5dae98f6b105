"""A wallet outside this process: no key enters it, and what the wallet signs or sends is checked like anybody's.

Typed data is shown on stdout and its signature read from stdin; a transaction is shown. What was given to a wallet is
in the journal with the block before it, so that a later run finds what became of it by the Hub's event, by any sender
and in any transaction.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bounty_protocol.auth.eip712 import typed_data_digest
from bounty_protocol.auth.signature import recover
from bounty_protocol.types import Address, BlockNumber

from service_cli.chain import sender
from service_cli.chain.events import ApprovalRequired
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.receipts import ExpectedEvent, Receipt
from service_cli.chain.session import ChainClient
from service_cli.config.env_consent import require_meant
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import emit, say

_DIGITS: Final = frozenset("0123456789abcdefABCDEF")
_POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ExternalSigner:
    """An account whose key is in a wallet; by stdout and stdin."""

    address: Address

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        """Return the wallet's signature; ``signature_malformed`` for anything that cannot be one."""
        say(f"to sign in your wallet: {summary}; paste the signature as one line")
        emit(ApprovalRequired(self.address, dict(typed_data)))
        return standard_form(_signature(_answered_line()), typed_data, self.address)


def standard_form(signature: bytes, typed_data: Mapping[str, object], account: Address) -> bytes:
    """Return a plain key's signature with v of 27 or 28, as the interface requires, whatever form the wallet gave.

    Hardware wallets give v of 0 or 1, some libraries 64 bytes (EIP-2098). A signature that this account's key did not
    make is left unchanged: a contract wallet has its own forms.
    """
    if len(signature) == 64:
        parity_and_s = int.from_bytes(signature[32:], "big")
        s = parity_and_s & (2**255 - 1)
        raised = signature[:32] + s.to_bytes(32, "big") + bytes([27 + (parity_and_s >> 255)])
    elif len(signature) == 65 and signature[64] in (0, 1):
        raised = signature[:64] + bytes([27 + signature[64]])
    else:
        return signature
    if recover(typed_data_digest(typed_data), raised) == account:
        return raised
    if len(signature) == 64:
        message = f"These 64 bytes are not a signature by {account} of the message shown. Nothing was sent."
        raise CommandRefused("signature_malformed", message, next_action="Paste the whole line that the wallet shows.")
    return signature


def external_signer(settings: Settings, address: Address) -> ExternalSigner:
    """Return the wallet that signs for a command. It is not asked to sign for values from a ``.env`` that nobody
    confirmed.
    """
    require_meant(settings, None)
    return ExternalSigner(address)


@dataclass(frozen=True, slots=True)
class Given:
    """A call that a wallet was given. ``from_block`` is the tip before that."""

    data: str
    from_block: BlockNumber


GIVEN: Final = JournalEntry("given_to_wallet", Given)


def done_by_wallet(chain: ChainClient, proof: ExpectedEvent[Any], journal: Journal) -> Receipt | None:
    """Return the event of a call that an earlier run gave to a wallet, with enough blocks on top; None if the chain
    shows none.
    """
    given = journal.get(GIVEN)
    if given is None or proof.newest(chain, given.from_block) is None:
        return None
    look = partial(sender.newest_settled, chain, proof, given.from_block)
    found, _ = sender.keep_looking(look, "what your wallet sent is remembered", _POLL_SECONDS)
    if found is not None:
        return found
    message = "The transaction your wallet sent does not have enough blocks on top yet."
    next_action = "Run the command again later: it finds the same transaction. Do not send it a second time."
    raise CommandFailed("transaction_pending", message, next_action=next_action)


def _answered_line() -> str:
    """Read the next line of stdin; refuse if it has ended, so that nobody can answer."""
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        message = "Standard input ended before the wallet's signature came. Nothing was sent."
        next_action = "Run it again where you can paste the signature, or write it to stdin as one line."
        raise CommandRefused("signature_malformed", message, next_action=next_action)
    return line.strip()


def _signature(line: str) -> bytes:
    """Parse a wallet's signature: 64 bytes or more, or 0x where a contract wallet's owners signed on the chain; what
    may be a private key is never sent on.
    """
    if line in {"0x", "0X"}:
        return b""
    digits = line[2:] if line[:2] in {"0x", "0X"} else line
    if not digits or len(digits) % 2 or any(c not in _DIGITS for c in digits):
        raise CommandRefused(
            "signature_malformed",
            "The answer is not a hexadecimal signature.",
            next_action="Paste 0x and hexadecimal digits.",
        )
    if len(digits) == 64:
        message = "These 32 bytes are not a signature. If they are your private key: it was neither sent nor stored."
        next_action = "Paste the signature that the wallet shows. Never paste a key: clear it from your terminal."
        raise CommandRefused("signature_malformed", message, next_action=next_action)
    if len(digits) < 128:
        message = f"A signature has 64 bytes or more; these are {len(digits) // 2}. Nothing was sent."
        raise CommandRefused("signature_malformed", message, next_action="Paste the whole line that the wallet shows.")
    return bytes.fromhex(digits)
