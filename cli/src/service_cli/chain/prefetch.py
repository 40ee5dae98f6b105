"""Reads of the chain that do not depend on one another, requested together.

A command reads step by step, each step with its check. Within ``ChainClient.prefetched`` a step finds its answer here,
where one request brought those of several steps, so that no check moves from its place or says anything else. An answer
is used once, and not after the block: what is read again is read from the chain. Where the endpoint gives no answers
together, each is read at its step, which says why.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from bounty_protocol.chain.rpc import Call, ChainUnavailable, Rpc, RpcRefused


class PrefetchingRpc(Rpc):
    """JSON-RPC over one endpoint, for one thread."""

    def __init__(self, url: str) -> None:
        super().__init__([url], patient=True)
        self._answers: dict[str, object] = {}

    @contextmanager
    def prefetched(self, calls: Sequence[Call]) -> Iterator[None]:
        """Within it these are read by one request, those of a block around it excepted."""
        missing = {key: call for call in calls if (key := json.dumps(call)) not in self._answers}
        answers = list[object]()
        if len(missing) > 1:
            with suppress(ChainUnavailable):
                answers = super().batch(list(missing.values()))
        found = {key: one for key, one in zip(missing, answers, strict=False) if _is_of_the_chain(one)}
        self._answers |= found
        try:
            yield
        finally:
            for key in found:
                self._answers.pop(key, None)

    def batch(self, calls: Sequence[Call]) -> list[object]:
        keys = {json.dumps(call) for call in calls}
        if len(keys) == len(calls) and keys <= self._answers.keys():
            return [self._answers.pop(json.dumps(call)) for call in calls]
        return super().batch(calls)


def _is_of_the_chain(answer: object) -> bool:
    """Whether it is a result or the contract's refusal; any other may be meant for the request as a whole."""
    return not isinstance(answer, RpcRefused) or answer.is_revert
