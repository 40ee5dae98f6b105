"""The one place that signs, with a key of the environment or of a keystore.

A signature is made only over typed data or a transaction that this client encoded itself; a local key stays
in this object and is never printed. ``outside`` has the wallets that hold their key themselves.

A keystore is the encrypted JSON file of Ethereum's clients and wallets (Web3 Secret Storage, version 3). Whose it is
can be read without its passphrase, where the file names its account. The passphrase comes from a file, else
from a person at a terminal, unseen. What a file asks of this machine to open it is bounded, since a ``.env`` of
somebody else may name it.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from bounty_protocol.auth.eip712 import typed_data_digest
from bounty_protocol.auth.signature import account_of_key, parse_private_key, sign_digest
from bounty_protocol.chain.transaction import UnsignedTransaction
from bounty_protocol.types import Address, parse_address

from service_cli.config.env_consent import require_meant
from service_cli.config.environment import (
    CLAIMANT_KEY,
    DOTENV,
    SOLVER_KEY,
    Environment,
    KeyForm,
    KeySource,
    passphrase_of,
)
from service_cli.config.settings import Settings
from service_cli.disk import Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.ui.consent import can_be_asked
from service_cli.ui.output import say, warn

if TYPE_CHECKING:
    from eth_account import Account


class Signer(Protocol):
    """A signer for one account."""

    @property
    def address(self) -> Address:
        """The account."""

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        """Return 65 bytes for a plain key, often more for a contract wallet; ``summary`` is what a person reads."""


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """A private key in this process."""

    address: Address
    _key: bytes = field(repr=False)

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        say(f"signing: {summary}")
        return sign_digest(typed_data_digest(typed_data), self._key)

    def sign_transaction(self, transaction: UnsignedTransaction, summary: str) -> bytes:
        """Return the raw signed transaction."""
        say(f"signing: {summary}")
        return transaction.signed(self._key)


_WALLETS: Final = {
    SOLVER_KEY: "--solver-address",
    CLAIMANT_KEY: "--claimant-address",
}
"""The option that takes an account whose key stays in a wallet, where there is one instead of the variable."""


def local_signer(settings: Settings, variable: str) -> LocalSigner:
    """Return the signer of a key variable, or refuse and name the variable; refuse a ``.env`` that nobody confirmed."""
    signer = _key_holder(settings.environment, variable)
    require_meant(settings, variable)
    return signer


def account_of(settings: Settings, variable: str) -> Address:
    """Return the account of the key; a keystore that names its account stays locked."""
    source = settings.environment.source(variable)
    if source is not None and source.form is KeyForm.KEYSTORE and (account := Keystore.read(source).account):
        return account
    return _key_holder(settings.environment, variable).address


def _key_holder(environment: Environment, variable: str) -> LocalSigner:
    source = environment.source(variable)
    if source is None:
        wallet = _WALLETS.get(variable)
        instead = f"; or name the account of your wallet with {wallet}" if wallet else ""
        next_action = f"Set {variable}, or {variable}_FILE to a file that holds it{instead}."
        raise CommandRefused("key_missing", f"{variable} is not set.", next_action=next_action)
    if source.form is KeyForm.KEYSTORE:
        if source.value not in environment.read:
            environment.read[source.value] = Keystore.read(source).unlock(environment, variable).hex()
        text = environment.read[source.value]
    else:
        text = environment.read_source(source).strip()
    try:
        key = parse_private_key(text)
        return LocalSigner(account_of_key(key), key)
    except ValueError:
        message = f"{source.variable} does not hold a private key."
        next_action = f"Set {variable} to 32 bytes in hexadecimal digits, or {variable}_FILE to a file that holds them."
        raise CommandRefused("key_malformed", message, next_action=next_action) from None


def eth_account() -> "type[Account]":
    """Import eth-account, only for a keystore: it takes longer than everything else in a command.

    One of its dependencies raises the interpreter's recursion limit so far that deeply nested JSON of a hostile
    endpoint would overflow the stack and kill the process; the limit is put back.
    """
    limit = sys.getrecursionlimit()
    from eth_account import Account

    sys.setrecursionlimit(limit)
    return Account


_MOST_SCRYPT: Final = 2**23
"""n * r * p: four times what clients use, and at most 1 GiB of memory."""
_MOST_ROUNDS: Final = 10_000_000
"""Rounds of PBKDF2."""


@dataclass(frozen=True, slots=True)
class Keystore:
    """A keystore that was read, still locked."""

    source: KeySource
    account: Address | None
    """Whose key it says it holds; not every program writes that."""
    _content: Mapping[str, object] = field(repr=False)

    @staticmethod
    def read(source: KeySource) -> "Keystore":
        """Read the file that a variable names; refuse one that is not a keystore, or that would take too much to
        open.
        """
        try:
            text, exposed = read_small(Path(source.value))
            content = _content_of(text)
            account = _account_of(content)
        except Unusable as error:
            raise _malformed_keystore(source, str(error)) from None
        except (ValueError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else "is not JSON"
            raise _malformed_keystore(source, reason) from None
        if source.level == DOTENV:
            warn(f"note: {source.variable} was taken from .env")
        if exposed:
            warn(f"warning: the keystore of {source.variable} can be read by other users; chmod 600 it")
        return Keystore(source, account, content)

    def unlock(self, environment: Environment, name: str) -> bytes:
        """Return the key of ``name``; the passphrase comes from the environment's source for it."""
        passphrase = _passphrase(environment, name, self.account)
        say("opening the keystore")
        try:
            key = bytes(eth_account().decrypt(dict(self._content), passphrase))
            account = account_of_key(key)
        except Exception:  # noqa: BLE001  # whatever its libraries raise for what does not fit; nothing of it is shown
            message = f"The passphrase does not open the keystore of {self.source.variable}."
            next_action = "Run the command again with the passphrase of the file."
            raise CommandRefused("passphrase_wrong", message, next_action=next_action) from None
        if self.account not in {None, account}:
            raise _malformed_keystore(self.source, f"holds the key of {account} but names {self.account}")
        return key


def _passphrase(environment: Environment, name: str, account: Address | None) -> str:
    source = environment.passphrase_source(name)
    if source is not None:
        return environment.read_source(source).rstrip("\r\n")
    if can_be_asked():
        from getpass import getpass

        with suppress(EOFError):  # Ctrl-D
            return getpass(f"Passphrase of the keystore{f' of {account}' if account else ''} ({name}): ")
    message = "The keystore needs its passphrase, and none was typed at a terminal."
    raise CommandRefused(
        "passphrase_missing", message, next_action=f"Type it at a terminal, or set {passphrase_of(name)}."
    )


def _content_of(text: str) -> dict[str, object]:
    """Return the file's object with its names in lower case; ``ValueError`` says why it is not opened."""
    content = _lower(json.loads(text))
    if not isinstance(content, dict) or content.get("version") != 3:
        raise ValueError("is not a keystore of version 3")
    crypto = content.get("crypto")
    parameters = crypto.get("kdfparams") if isinstance(crypto, dict) else None
    if not isinstance(crypto, dict) or not isinstance(parameters, dict) or crypto.get("cipher") != "aes-128-ctr":
        raise ValueError("has no encrypted key in the form of a keystore")
    if parameters.get("dklen") != 32:
        raise ValueError("derives a key of the wrong length")
    match crypto.get("kdf"):
        case "scrypt":
            work = _product(parameters, "n", "r", "p") if _product(parameters, "n", "r") <= _MOST_SCRYPT else None
            most = _MOST_SCRYPT
        case "pbkdf2":
            work, most = _product(parameters, "c"), _MOST_ROUNDS
        case _:
            raise ValueError("is encrypted in a way that this client does not support")
    if work is None or work > most:
        raise ValueError("would take too much memory or time to open")
    return content


def _lower(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {str(name).lower(): _lower(inner) for name, inner in value.items()}


def _product(parameters: Mapping[str, object], *names: str) -> int:
    product = 1
    for name in names:
        value = parameters.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MOST_ROUNDS:
            raise ValueError("has malformed parameters")
        product *= value
    return product


def _account_of(content: Mapping[str, object]) -> Address | None:
    named = str(content.get("address") or "").lower().removeprefix("0x")
    try:
        return parse_address("0x" + named) if named else None
    except ValueError:
        raise ValueError("names a malformed account") from None


def _malformed_keystore(source: KeySource, reason: str) -> CommandRefused:
    message = f"The keystore of {source.variable} {reason}."
    return CommandRefused("keystore_malformed", message, next_action="Name the JSON file that your wallet exported.")
