"""Reads of the chain that do not depend on one another, requested together.

A command reads step by step, each step with its check. Within ``ChainClient.prefetched`` a step finds its answer here,
where one request brought those of several steps, so that no check moves from its place or says anything else. An answer
is used once, and not after the block: what is read again is read from the chain. An endpoint that takes no batch, none
so long, or too much time for one, is read call by call; so is one that limits its requests, since it may count calls.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from bounty_protocol.chain.rpc import Call, ChainUnavailable, Rpc, RpcRefused

_LEAST_CALLS: Final = 2
_MOST_CALLS: Final = 100
"""Of one request."""


class PrefetchingRpc(Rpc):
    """JSON-RPC over one endpoint, for one thread."""

    def __init__(self, url: str) -> None:
        super().__init__([url], patient=True)
        self._answers: dict[str, object] = {}
        self._most_calls = _MOST_CALLS

    @contextmanager
    def prefetched(self, calls: Sequence[Call]) -> Iterator[None]:
        """Within it these are read by one request, those of a block around it excepted."""
        missing = {key: call for call in calls if (key := _key(call)) not in self._answers}
        answers = self._together(list(missing.values())) if len(missing) > 1 else None
        found = {key: one for key, one in zip(missing, answers or (), strict=False) if _is_of_the_chain(one)}
        self._answers |= found
        try:
            yield
        finally:
            for key in found:
                self._answers.pop(key, None)

    def batch(self, calls: Sequence[Call]) -> list[object]:
        if len(calls) > 1 and (answers := self._together(calls)) is not None:
            return answers
        return [self._alone(call) for call in calls]

    def _alone(self, call: Call) -> object:
        if (key := _key(call)) in self._answers:
            return self._answers.pop(key)
        return super().batch([call])[0]

    def _together(self, calls: Sequence[Call]) -> list[object] | None:
        """The answers to as few requests as the endpoint takes; None where it did not take one of them, or takes none.

        Few say why they do not take a request, so from then on there are at most half as many calls in each. Where
        nothing came in time there is one: the endpoint may do them one after the other, or leave any batch unanswered.
        """
        answers = list[object]()
        while len(answers) < len(calls):
            part = calls[len(answers) :][: self._most_calls]
            if self._most_calls < _LEAST_CALLS:
                return None
            try:
                answers += self.attempt(part)
            except ChainUnavailable as error:
                self._most_calls = 1 if error.silent else len(part) // 2
                return None
        return answers


def _is_of_the_chain(answer: object) -> bool:
    """Whether it is a result or the contract's refusal; any other may be meant for the request as a whole."""
    return not isinstance(answer, RpcRefused) or answer.is_revert


def _key(call: Call) -> str:
    return json.dumps(call)
