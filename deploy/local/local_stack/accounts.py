"""The people of a local stack, each with throw-away keys made for this run."""

import json
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.crypto.x25519 import Identity

from local_stack.contract import Wallet

CLAIMANT_KEY: Final = "SERVICE_CLAIMANT_PRIVATE_KEY"
"""A Poster, a Solver and the fee recipient claim with the key they have."""


@dataclass(frozen=True, slots=True)
class RoleAccount:
    """One role: a wallet, and for Guardians an encryption identity. Those of a kind are numbered from 1."""

    role: str
    number: int | None = None
    wallet: Wallet = field(default_factory=Wallet, repr=False)
    identity: Identity | None = None

    @property
    def name(self) -> str:
        """``poster``, ``solver-1``, ``guardian-3``, ``fee-recipient`` and so on."""
        return self.role if self.number is None else f"{self.role}-{self.number}"

    @property
    def address(self) -> str:
        """The account, lowercase."""
        return self.wallet.address

    def variables(self) -> dict[str, str]:
        """This person's own environment, named as ``service-cli`` reads it."""
        key, prefix = self.wallet.private_key, f"SERVICE_{self.role.upper().replace('-', '_')}"
        if self.identity is not None:
            keyring = json.dumps([self.identity.to_text()])
            keys = {f"{prefix}_ACCOUNT_PRIVATE_KEY": key, f"{prefix}_PRIVATE_KEYS_JSON": keyring}
        else:
            keys = {f"{prefix}_PRIVATE_KEY": key}
        if self.role in {"poster", "solver", "fee-recipient"}:
            keys[CLAIMANT_KEY] = key
        return {f"{prefix}_ADDRESS": self.address, **keys}


@dataclass(frozen=True, slots=True)
class People:
    """Everyone of one stack."""

    owner: RoleAccount
    fee_recipient: RoleAccount
    settler: RoleAccount
    poster: RoleAccount
    solvers: tuple[RoleAccount, ...]
    guardians: tuple[RoleAccount, ...]

    def everyone(self) -> tuple[RoleAccount, ...]:
        """Return everyone, in the order in which they are listed."""
        return (self.poster, *self.solvers, *self.guardians, self.owner, self.fee_recipient, self.settler)

    def variables(self) -> dict[str, str]:
        """Return everyone's keys in one environment: the first of a kind under its plain names, the others with a
        number.
        """
        values: dict[str, str] = {}
        for person in self.everyone():
            suffix = "" if person.number in {None, 1} else f"_{person.number}"
            values |= {f"{name}{suffix}": value for name, value in person.variables().items() if name != CLAIMANT_KEY}
        return {**values, CLAIMANT_KEY: self.solvers[0].wallet.private_key}

    def by_name(self) -> dict[str, RoleAccount]:
        """Return ``poster``, ``solver-1``, ``guardian-1``, ``owner``, ``fee-recipient``, ``settler`` and so on."""
        return {person.name: person for person in self.everyone()}


def make_people(*, solvers: int, guardians: int) -> People:
    """Make new keys for everyone."""
    return People(
        owner=RoleAccount("owner"),
        fee_recipient=RoleAccount("fee-recipient"),
        settler=RoleAccount("settler"),
        poster=RoleAccount("poster"),
        solvers=tuple(RoleAccount("solver", number) for number in range(1, solvers + 1)),
        guardians=tuple(
            RoleAccount("guardian", number, identity=Identity.generate()) for number in range(1, guardians + 1)
        ),
    )
