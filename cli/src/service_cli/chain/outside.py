"""A wallet outside this process: no key enters it, and what the wallet signs or sends is checked like anybody's.

Typed data is shown on stdout and its signature read from stdin, or both go by a page to a browser wallet. A transaction
is shown, written as a file for a Safe too, or sent by the browser wallet while the command waits. Whatever was given to
a wallet is in the journal with the block before it, so that a later run finds what became of it by the Hub's event,
by any sender and in any transaction.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bounty_protocol.chain.safe_batch import is_same_batch, safe_batch
from bounty_protocol.types import Address, BlockNumber, Bytes32, parse_bytes32
from bounty_protocol.wire.reading import read

from service_cli.chain import sender
from service_cli.chain.events import ApprovalRequired
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.receipts import Receipt, receipt_of
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.transactions import DoneEvidence, HubCall
from service_cli.config.acceptance import require_accepted
from service_cli.config.settings import Settings
from service_cli.disk import open_regular
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import emit, say

if TYPE_CHECKING:  # a server, needed by those who ask for a page
    from service_cli.wallet_page.server import WalletPage, WalletTask

_DIGITS: Final = frozenset("0123456789abcdefABCDEF")
_MOST_BYTES: Final = 1024 * 1024
_POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ExternalSigner:
    """An account whose key is in a wallet; by stdout and stdin, unless there is a ``page``."""

    address: Address
    page: "WalletPage | None" = None
    safe_file: Path | None = None
    """Where a transaction is written for the transaction builder of a Safe."""

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        """The wallet's signature; ``signature_malformed`` for what cannot be one."""
        if self.page is not None:
            say(f"to sign in your wallet: {summary}")
            return _signature(self.page.ask(_signing(self.address, typed_data, summary)))
        say(f"to sign in your wallet: {summary}; paste the signature as one line")
        emit(ApprovalRequired(self.address, dict(typed_data)))
        return _signature(_answered_line())


@contextmanager
def external_signer(
    settings: Settings, address: Address, *, browser: bool, safe_file: Path | None
) -> Iterator[ExternalSigner]:
    """The wallet that a command's options choose; a page is closed at the end.

    Nothing is given to it with values of a ``.env`` that was not accepted.
    """
    require_accepted(settings)
    if not browser:
        yield ExternalSigner(address, safe_file=safe_file)
        return
    import os

    from service_cli.config.environment import without_keys
    from service_cli.wallet_page.server import WalletPage

    with WalletPage(without_keys(os.environ)) as page:
        yield ExternalSigner(address, page)


@dataclass(frozen=True, slots=True)
class Given:
    """A call that a wallet was given. ``from_block`` is the tip before that; ``hashes`` are what the wallet sent."""

    data: str
    from_block: BlockNumber
    hashes: tuple[Bytes32, ...] = ()


GIVEN: Final = JournalEntry.of("given_to_wallet", Given)


def done_by_wallet(chain: ChainClient, proof: DoneEvidence, journal: Journal) -> Receipt | None:
    """The result of a call that an earlier run gave to a wallet; waited for where the wallet sent it already."""
    given = journal.get(GIVEN)
    if given is None:
        return None
    if proof.newest(chain, given.from_block) is None and not any(_is_pending(chain, sent) for sent in given.hashes):
        return None
    return _awaited(chain, proof, given)


def give_to_wallet(
    chain: ChainClient,
    signer: ExternalSigner,
    call: HubCall,
    proof: DoneEvidence,
    journal: Journal,
    show: Callable[[], None],
) -> Receipt | None:
    """Give the simulated call to the wallet: the receipt where the command waits for it, else None.

    ``show`` prints it for a program or person that takes it from stdout.
    """
    given = journal.get(GIVEN)
    again = given is not None and given.data == call.data
    if given is None or not again:
        given = Given(call.data, chain.latest().number)
        journal.note(GIVEN, given)
    if signer.page is None:
        if signer.safe_file is not None:
            require_safe(chain, signer)
            _write_for_safe(chain, signer.address, call, signer.safe_file)
        show()
        return None
    say(f"to send from your wallet: {call.summary}")
    sent = _transaction_hash(signer.page.ask(_sending(chain, signer.address, call, again=again)))
    given = Given(given.data, given.from_block, (*given.hashes, sent))
    journal.note(GIVEN, given)
    say(f"your wallet sent transaction {sent}; waiting for its block")
    return _awaited(chain, proof, given)


def _awaited(chain: ChainClient, proof: DoneEvidence, given: Given) -> Receipt:
    """The event of what the wallet sent, with enough blocks on top; its transaction may be another than it named."""
    look = partial(_settled, chain, proof, given)
    found, _ = sender.keep_looking(look, "what your wallet sent is remembered", _POLL_SECONDS)
    if found is not None:
        return found
    message = "What your wallet sent is in no block yet, or waits for other owners."
    next_action = "Run the command again later: it looks for the same transaction. Do not send it a second time."
    raise CommandFailed("transaction_pending", message, next_action=next_action)


def _settled(chain: ChainClient, proof: DoneEvidence, given: Given) -> Receipt | None:
    """Check the chain once; conclusions hold for a single tip block with enough confirmations."""
    head = chain.latest()
    deep = sender.settled_block(chain, head)
    found = proof.newest(chain, given.from_block)
    if found is not None:
        return found if found.block_number <= deep and sender.is_part(chain, head) else None
    reverted = next((receipt_of(chain, sent) for sent in given.hashes[-1:]), None)
    if (
        reverted is not None
        and not reverted.succeeded
        and reverted.block_number <= deep
        and sender.is_part(chain, head)
    ):
        message = f"Transaction {reverted.tx_hash} of your wallet was mined and reverted; nothing changed."
        next_action = "See with service-cli bounty:show what changed, then run the command again."
        raise CommandRefused("transaction_reverted", message, next_action=next_action)
    return None


def _is_pending(chain: ChainClient, sent: Bytes32) -> bool:
    """Whether a node has it and no block does."""
    with chain_errors():
        found = chain.rpc.call("eth_getTransactionByHash", sent)
    return isinstance(found, dict) and found.get("blockNumber") is None


def require_safe(chain: ChainClient, signer: object) -> None:
    """Refuse ``--safe`` for an account without code; before the owners are asked for a signature."""
    if not isinstance(signer, ExternalSigner) or signer.safe_file is None:
        return
    with chain_errors():
        code = chain.rpc.call("eth_getCode", signer.address, "latest")
    if code in {"0x", None}:
        message = f"There is no contract at {signer.address}, so it is no Safe on this chain yet."
        raise CommandRefused("not_a_safe", message, next_action="Check the account and the network.")


def expect_tasks(signer: object, count: int) -> None:
    """Show on a wallet's page how many things it will be asked for."""
    if isinstance(signer, ExternalSigner) and signer.page is not None:
        signer.page.expect(count)


def _write_for_safe(chain: ChainClient, safe: Address, call: HubCall, file: Path) -> None:
    """Write the file, or leave one that has the same call; any other file of that name is refused."""
    data = bytes.fromhex(call.data.removeprefix("0x"))
    text = safe_batch(chain.chain_id, safe, [(call.target(chain), data)], call.summary, int(time.time()))
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        if not _has(file, text):
            message = f"{file} is there and holds something else."
            raise CommandRefused("file_exists", message, next_action="Name another file with --safe.") from None
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}."
        raise CommandRefused("file_not_written", message, next_action="Name another file with --safe.") from None
    say(f"{file}: load it in the transaction builder of the Safe; once it is executed, run this command again")


def _has(file: Path, text: str) -> bool:
    try:
        with open_regular(file) as opened:
            return is_same_batch(opened.read(_MOST_BYTES).decode(), text)
    except (OSError, ValueError):
        return False


def _signing(account: Address, typed_data: Mapping[str, object], summary: str) -> "WalletTask":
    from service_cli.wallet_page.server import WalletTask

    domain, message = (read(dict[str, object], typed_data[part]) for part in ("domain", "message"))
    return WalletTask(
        account=account,
        chain_id=read(int, domain["chainId"]),
        title=f"Sign: {summary}",
        lines=[
            ("What it is", "a request to the service; it moves no money and is valid for about five minutes"),
            *(_in_words(name, value) for name, value in message.items() if value != "" and name != "blockHash"),
            ("Hub", str(domain["verifyingContract"])),
            ("Chain", str(domain["chainId"])),
            ("Account", account),
        ],
        button="Sign in the wallet",
        method="eth_signTypedData_v4",
        params=[account, json.dumps(typed_data)],
    )


_FIXED: Final = "fixed by its hash: with this signature nothing else can be sent"
_WORDS: Final = {"endpointId": "Request", "audience": "Service", "query": "With", "bodyHash": "Content"}
"""How the page names the fields of a request's message; their exact values are folded below."""


def _in_words(name: str, value: object) -> tuple[str, str]:
    if name == "blockNumber":
        return "Counts from", f"block {value}"
    return _WORDS.get(name, name), _FIXED if name == "bodyHash" else str(value)


def _sending(chain: ChainClient, account: Address, call: HubCall, *, again: bool) -> "WalletTask":
    from service_cli.wallet_page.server import WalletTask

    target = call.target(chain)
    twice = "You were asked for this before. If your wallet sent it, wait for its block and do not send it again."
    return WalletTask(
        account=account,
        chain_id=chain.chain_id,
        title=f"Send: {call.summary}",
        lines=[
            *([("Careful", twice)] if again else []),
            ("What it is", f"a transaction that calls {call.function} of the Hub; it was simulated and succeeds"),
            ("Hub", target),
            ("Chain", str(chain.chain_id)),
            ("Value", f"0: it sends no ether; it takes about {call.usual_gas:,} gas, which the wallet prices"),
            ("Account", account),
        ],
        button="Send from the wallet",
        method="eth_sendTransaction",
        params=[{"from": account, "to": target, "value": "0x0", "data": call.data, "chainId": hex(chain.chain_id)}],
    )


def _transaction_hash(answer: str) -> Bytes32:
    try:
        return parse_bytes32(answer.lower())
    except ValueError:
        message = "The wallet answered something that is no transaction hash."
        next_action = "Look in the wallet whether it sent something, then run the command again."
        raise CommandFailed("wallet_answer_malformed", message, next_action=next_action) from None


def _answered_line() -> str:
    """The next line of stdin; refused where it has ended, so that nobody can answer."""
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        message = "Standard input ended before the wallet's signature came. Nothing was sent."
        next_action = "Run it again where the signature can be pasted, or written to stdin as a line; or add --browser."
        raise CommandRefused("signature_malformed", message, next_action=next_action)
    return line.strip()


def _signature(line: str) -> bytes:
    """A wallet's signature: 65 bytes or more; what may be a private key instead goes nowhere."""
    digits = line[2:] if line[:2] in {"0x", "0X"} else line
    if not digits or len(digits) % 2 or any(c not in _DIGITS for c in digits):
        raise CommandRefused(
            "signature_malformed", "The answer is no hex signature.", next_action="Give 0x and hex digits."
        )
    if len(digits) == 64:
        message = "These 32 bytes are no signature. If they are your private key, it was not sent, and not kept."
        next_action = "Paste the signature that the wallet shows. Never paste a key: take it out of your terminal."
        raise CommandRefused("signature_malformed", message, next_action=next_action)
    if len(digits) < 130:
        message = f"A signature has 65 bytes or more; these are {len(digits) // 2}. Nothing was sent."
        raise CommandRefused("signature_malformed", message, next_action="Paste the whole line that the wallet shows.")
    return bytes.fromhex(digits)
