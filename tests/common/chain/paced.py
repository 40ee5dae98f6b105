"""A made chain of any pace, and the verification of requests in one process that reads it."""

from collections.abc import Sequence

from bounty_protocol.auth.header import ApprovalHeader
from bounty_protocol.auth.typed_data import digest
from bounty_protocol.auth.verify import Reason, Refused, verify_request
from bounty_protocol.chain.blocks import NearTip, block_to_sign
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import Call, Rpc, RpcRefused
from bounty_protocol.types import Address, Bytes32
from service_common.budgets import Budgets, network_of
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import RecentBlocks

from tests.clocks import HandClock
from tests.protocol.auth.signing import AUTHORITY, DOMAIN, REQUEST, Key, block_hash, new_key, received

BORN = 1_800_000_000
KEY = new_key()


class PacedChain(Rpc):
    """Endpoints of a chain that makes a block each ``block_time`` seconds of ``clock``, with times in whole seconds."""

    def __init__(self, clock: HandClock, block_time: float, *, endpoints: int = 1, largest_batch: int = 2) -> None:
        super().__init__([f"http://127.0.0.1:{place}" for place in range(1, endpoints + 1)])
        self.clock, self.block_time, self.largest_batch = clock, block_time, largest_batch
        self.lag = [0] * endpoints
        self.calls: list[str] = []
        self.reorganized_from: int | None = None
        self.liar: int | None = None
        """The place of an endpoint that is wrong about every hash."""

    def bounded(self, **_options: object) -> Rpc:
        return self

    @property
    def height(self) -> int:
        return 10_000 + int(self.clock.time / self.block_time)

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        if len(calls) > self.largest_batch:
            return [RpcRefused(-32600, "batch too large")] * len(calls)
        self.calls += [method for method, _ in calls]
        answers = [self._answer(self.height - self.lag[endpoint.place - 1], params) for _, params in calls]
        if endpoint.place == self.liar:
            answers = [{**each, "hash": block_hash(7)} if isinstance(each, dict) else each for each in answers]
        return answers

    def _answer(self, height: int, params: Sequence[object]) -> object:
        if not isinstance(params[0], str):
            return "0x" + "00" * 32  # what a contract's check answers: refused
        number = height if params[0] == "latest" else int(params[0], 16)
        return self.block(number) if number <= height else None

    def block(self, number: int) -> dict[str, object]:
        return {
            "number": hex(number),
            "hash": self.hash_at(number),
            "parentHash": self.hash_at(number - 1),
            "timestamp": hex(self.time_of(number)),
        }

    def time_of(self, number: int) -> int:
        return BORN + int(number * self.block_time)

    def hash_at(self, number: int) -> Bytes32:
        is_new = self.reorganized_from is not None and number >= self.reorganized_from
        return block_hash(number + 10**9 if is_new else number)


class Service:
    """What verifies requests in one process."""

    def __init__(self, chain: PacedChain) -> None:
        self.chain = chain
        self.blocks = RecentBlocks(chain, chain.clock)
        self.wallets = ContractWallets(chain, lambda: self.blocks.newest().number, Budgets(chain.clock))

    def receive(self, header: ApprovalHeader) -> Reason | None:
        """Why the request is refused; None if it is accepted."""
        try:
            verify_request(
                received(header), AUTHORITY, self.blocks, self.wallets.of_network(network_of("198.51.100.1"))
            )
        except Refused as refused:
            return refused.reason
        return None

    def calls_of(self, header: ApprovalHeader) -> int:
        before = len(self.chain.calls)
        self.receive(header)
        return len(self.chain.calls) - before


def make(block_time: float = 0.2, **options: int) -> Service:
    return Service(PacedChain(HandClock(), block_time, **options))


def signed(chain: Rpc, key: Key = KEY, account: Address | None = None) -> ApprovalHeader:
    """A request signed now, as the client signs; ``account``: what it names as its signer."""
    block = block_to_sign(chain, NearTip.read(chain))
    approval = REQUEST.approval(block.number, block.hash)
    return ApprovalHeader(account or key.address, key.sign(digest(DOMAIN, approval)), block.number, block.hash)
