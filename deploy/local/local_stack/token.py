"""The escrow token of a local chain, put there as USDC is: an implementation, a proxy before it, roles, a minter.

The same transactions set up USDC's own compiled contracts, which tests do with them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hexbytes import HexBytes
from service_common.web3_provider import Web3

from local_stack.contract import Artifact, Contract, Wallet, read_artifact, send_deployment

TOKEN: Final = 10**6
"""One whole test token in its smallest units."""
NAME: Final = "Test USD Coin"
SYMBOL: Final = "tUSDC"
MINTABLE: Final = 10**9 * TOKEN
"""The issuer's whole minting allowance."""


@dataclass(frozen=True, slots=True)
class TokenCode:
    """The deployed token: its own code, and the proxy that people call."""

    implementation: Artifact
    proxy: Artifact

    @staticmethod
    def local(artifacts: Path) -> "TokenCode":
        """The local replacement of USDC."""
        return TokenCode(read_artifact(artifacts / "LocalUsdc.json"), read_artifact(artifacts / "LocalProxy.json"))


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who holds the token's roles: ``wallet`` all of them, minter included, ``admin`` nothing but the proxy.

    The proxy's admin can use no function of the token, so it is an account that does nothing else.
    """

    wallet: Wallet
    admin: Wallet

    def deploy(self, w3: Web3, code: TokenCode) -> tuple[Contract, list[HexBytes]]:
        """Send everything at once, in order; the token, and the transactions that have to succeed."""
        implementation = self.wallet.next_contract(w3)
        sent = [send_deployment(w3, self.wallet, code.implementation)]
        address = self.wallet.next_contract(w3)
        sent.append(send_deployment(w3, self.wallet, code.proxy, Web3.to_checksum_address(implementation)))
        sent.append(Contract(w3, address, code.proxy.abi).send(self.wallet, "changeAdmin", self.admin.address))
        token = Contract(w3, address, code.implementation.abi)
        return token, [*sent, *self._set_up(token)]

    def _set_up(self, token: Contract) -> Iterator[HexBytes]:
        """As USDC became what it is: one step for each of its releases."""
        own = self.wallet.address
        yield token.send(self.wallet, "initialize", NAME, SYMBOL, "USD", 6, own, own, own, own)
        yield token.send(self.wallet, "initializeV2", NAME)
        yield token.send(self.wallet, "initializeV2_1", own)
        yield token.send(self.wallet, "initializeV2_2", [], SYMBOL)
        yield token.send(self.wallet, "configureMinter", own, MINTABLE)
