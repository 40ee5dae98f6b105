"""The one place that signs.

A signature is made only over typed data or a transaction that this client encoded itself; a local key stays
in this object, is never printed, and is taken out of the process's environment on reading it. ``outside`` has the
wallets that hold their key themselves.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from service_common.auth.signature import account_of_key
from service_common.chain.deployment import NETWORKS
from service_common.types import Address

from service_cli.chain.keystore import Keystore
from service_cli.config.environment import Environment, KeyForm, KeySource, forms_of
from service_cli.config.keys import parse_private_key
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.shell.output import say

if TYPE_CHECKING:
    from eth_account import Account


class Signer(Protocol):
    """What signs for one account."""

    @property
    def address(self) -> Address:
        """The account."""

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        """65 bytes for a plain key, often more for a contract wallet; ``summary`` is what a person reads."""


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """A private key in this process."""

    address: Address
    _key: bytes = field(repr=False)

    def sign_typed_data(self, typed_data: Mapping[str, object], summary: str) -> bytes:
        say(f"signing: {summary}")
        return bytes(eth_account().sign_typed_data(self._key, full_message=_with_integers(typed_data)).signature)

    def sign_transaction(self, fields: Mapping[str, object], summary: str) -> bytes:
        """The raw signed transaction."""
        say(f"signing: {summary}")
        return bytes(eth_account().sign_transaction(dict(fields), self._key).raw_transaction)


_WALLETS: Final = {
    "SERVICE_SOLVER_PRIVATE_KEY": "--solver-address",
    "SERVICE_CLAIMANT_PRIVATE_KEY": "--claimant-address",
}
"""The option that takes an account whose key stays in a wallet, where there is one instead of the variable."""


def local_signer(settings: Settings, variable: str) -> LocalSigner:
    """The signer behind a key variable, or a refusal that names it."""
    environment = settings.environment
    source = environment.source(variable)
    if source is None:
        wallet = _WALLETS.get(variable)
        instead = f"; or name the account of your wallet with {wallet}" if wallet else ""
        next_action = (
            f"Set {variable}, or {variable}_FILE to a file that holds it{instead}; more ways: docs/wallets.md."
        )
        raise CommandRefused("key_missing", f"{variable} is not set.", next_action=next_action)
    mention_plain_key(settings, source)
    return _signer_of(environment, variable, source)


def account_of(settings: Settings, variable: str) -> Address:
    """Whose key it is; a keystore that names its account stays locked."""
    source = settings.environment.source(variable)
    if source is not None and source.form is KeyForm.KEYSTORE and (account := Keystore.read(source).account):
        return account
    return local_signer(settings, variable).address


def _signer_of(environment: Environment, variable: str, source: KeySource) -> LocalSigner:
    if source.form is KeyForm.KEYSTORE:
        if source.value not in environment.read:
            environment.read[source.value] = Keystore.read(source).unlock(environment, variable).hex()
        text = environment.read[source.value]
    else:
        text = environment.read_source(source).strip()
    for form in forms_of(variable):
        os.environ.pop(form.variable(variable), None)  # no child process inherits it
    try:
        key = parse_private_key(text)
        return LocalSigner(account_of_key(key), key)
    except ValueError:
        message = f"{source.variable} gives no private key."
        next_action = f"Set {variable} to 32 bytes in hexadecimal digits, or {variable}_FILE to a file that holds them."
        raise CommandRefused("key_malformed", message, next_action=next_action) from None


def mention_plain_key(settings: Settings, source: KeySource) -> None:
    """One line where a key of real money is in the environment itself."""
    if source.form is KeyForm.VARIABLE and settings.chain_id == NETWORKS["mainnet"]:
        say(f"note: {source.variable} holds a plain key of real money; a keystore or a command keeps it safer")


def _with_integers(typed_data: Mapping[str, object]) -> dict[str, object]:
    """Typed data with decimal strings of integer fields as integers, as the signing library wants them."""
    types, message = typed_data["types"], typed_data["message"]
    if not isinstance(types, dict) or not isinstance(message, dict):
        raise TypeError("not typed data")
    kinds = {entry["name"]: entry["type"] for entry in types[typed_data["primaryType"]]}
    values = {
        name: int(value) if kinds[name].startswith("uint") and isinstance(value, str) else value
        for name, value in message.items()
    }
    return {**typed_data, "message": values}


def eth_account() -> "type[Account]":
    """eth-account's signing, imported only when something is signed.

    One of its dependencies raises the interpreter's recursion limit so far that deeply nested JSON of a hostile
    endpoint would overflow the stack and kill the process; the limit is put back.
    """
    limit = sys.getrecursionlimit()
    from eth_account import Account

    sys.setrecursionlimit(limit)
    return Account
