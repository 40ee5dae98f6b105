"""Written Verdicts: bytes that hash to what a Guardian recorded, kept since they never change."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from bounty_protocol.clock import Clock
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, Bytes32
from bounty_protocol.wire.withheld import Withheld
from markupsafe import Markup
from service_common.recent import Recent

from service_web.api.answers import Api
from service_web.api.client import ApiAbsent, ApiMalformed, ApiRefused, ApiUnavailable
from service_web.markdown import as_text, render
from service_web.withheld import WithheldTexts

_KEPT_SECONDS: Final = 86_400.0
_ABSENT_SECONDS: Final = 10.0
_MAX_KEPT: Final = 1_000
_MAX_KEPT_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True)
class Written:
    """Verified bytes; what is made of them is made once."""

    content: bytes

    @cached_property
    def parsed(self) -> WrittenVerdict | None:
        """The parsed statements; None where they are in no required form: a Guardian may record any commitment."""
        try:
            return parse_verdict(self.content)
        except ServiceError:
            return None

    @cached_property
    def reasons(self) -> Markup:
        """The reasons, rendered; everything as text where there is no such form."""
        if self.parsed is None:
            return as_text(self.content)
        return render(self.parsed.body)


class Lacking(Enum):
    """Why there is no document."""

    ABSENT = "nobody published it"
    WRONG = "the API shows other bytes"
    NOT_NOW = "the API does not answer for it at the moment"


class WrittenVerdicts:
    """Those of one process. Thread-safe."""

    def __init__(self, api: Api, withheld: WithheldTexts, clock: Clock) -> None:
        self._api, self._withheld = api, withheld
        self._kept: Recent[Bytes32, Written] = Recent(
            _KEPT_SECONDS, _MAX_KEPT, clock, weigh=lambda each: len(each.content), most_weight=_MAX_KEPT_BYTES
        )
        self._absent: Recent[Bytes32, bool] = Recent(_ABSENT_SECONDS, _MAX_KEPT, clock)

    def of(self, commitment: Bytes32, guardian: Address) -> Written | Withheld | Lacking:
        """The document, or why it is not shown. Only that nobody published it is remembered."""
        if (withheld := self._withheld.verdict(commitment, guardian)) is not None:
            return withheld
        if self._kept.young(commitment) is None and self._absent.young(commitment):
            return Lacking.ABSENT
        try:
            return self._kept.get(commitment, lambda: Written(self._api.written_verdict(commitment)))
        except (ApiAbsent, ApiRefused):
            self._absent.get(commitment, lambda: True)
            return Lacking.ABSENT
        except ApiMalformed:
            return Lacking.WRONG
        except ApiUnavailable:
            return Lacking.NOT_NOW
