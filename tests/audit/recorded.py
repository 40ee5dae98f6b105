"""One check's requests and answers, kept so that it can be made again with one answer altered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from service_audit.http import HttpReply, Transport, UrllibTransport

Request = tuple[str, str, bytes | None]
Altered = Callable[[Request, HttpReply], HttpReply]
"""Of a request and its answer: what is answered instead."""


@dataclass(slots=True)
class Recorded:
    """The answers by request, each in the order in which they came."""

    real: Transport = field(default_factory=UrllibTransport)
    answers: dict[Request, list[HttpReply]] = field(default_factory=dict)

    def record(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        """The real answer, kept unless it asks for another attempt, for which a replay need not wait again."""
        found = self.real(method, url, body, headers)
        if found.status not in {429, 503}:
            self.answers.setdefault((method, url, body), []).append(found)
        return found

    def replaying(self, alter: Altered) -> Transport:
        """An exchange that answers from what was kept; what was never asked before is asked of the real one."""
        asked = dict[Request, int]()

        def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
            request = method, url, body
            kept = self.answers.get(request)
            if kept is None:
                return alter(request, self.real(method, url, body, headers))
            count = asked.get(request, 0)
            asked[request] = count + 1
            return alter(request, kept[min(count, len(kept) - 1)])

        return exchange
