"""The reviewer that queries a model.

At most two requests are made for one review, the second only to repair an answer that cannot be used. One time limit
covers both, to the last byte. Answers are bounded in size, redirects are not followed, the library retries nothing, and
no text of the endpoint or its library reaches a message or a log.

Endings: an answer that stays unusable is ``invalid_orchestrator_output``; an endpoint that refuses the key or does not
know the model is ``orchestrator_unconfigured``; everything else that keeps it from answering is
``orchestrator_provider_error``, with the wait that it requests.

A request that went out may have cost money, whatever came back: an answer that is cut, or a proxy that gave up while
the model worked, is billed. Free is only one that was not sent, or that was refused: a status below 500, and 503.
"""

from typing import Final

import httpx2
import openai
from bounty_protocol.clock import Clock
from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import Rubric
from service_common.log import get_logger

from service_reviewer.config import ModelSettings
from service_reviewer.providers.model.answer import Completion, UnusableAnswer, read_completion, read_review
from service_reviewer.providers.model.bounded import MAX_ANSWER_BYTES, BoundedTransport
from service_reviewer.providers.model.prompt import SCHEMA, Messages, messages, prompt_bytes, repair
from service_reviewer.providers.port import Judgement, ProviderError

_WAIT_SECONDS: Final = 10
_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""What ends a request before any of it went out: it costs nothing."""
_BUSY_SECONDS: Final = 30
_MAX_WAIT_SECONDS: Final = 3_600

log = get_logger(__name__)


class ModelProvider:
    """Queries one model at one endpoint."""

    def __init__(self, settings: ModelSettings, rubric: Rubric, clock: Clock) -> None:
        self._settings = settings
        self._rubric = rubric
        self._clock = clock

    def objection(self, material: Material) -> Judgement | None:
        """A page longer than the model is given."""
        most, length = self._settings.max_page_bytes, len(material.content)
        if length <= most:
            return None
        issue = Issue("document", f"Has {length} bytes; the reviewer reads pages of at most {most}. Shorten the page.")
        return Judgement([issue], "openai", "", b"", b"")

    def judge(self, material: Material) -> Judgement:
        """One request, and one more where its answer cannot be used."""
        first = messages(material, self._rubric)
        ends = self._clock.monotonic() + self._settings.timeout_seconds
        with self._client(ends) as client:
            completion = self._ask(client, first, ends)
            try:
                text, issues = read_review(completion)
            except UnusableAnswer as unusable:
                log.warning("the model's answer cannot be used", problem=unusable.problem)
                completion = self._ask(client, repair(first, unusable.answer, unusable.problem), ends, spent=True)
                text, issues = _last(completion)
        model = "".join(c for c in completion.model[:200] if c.isprintable()) or self._settings.model
        return Judgement(issues, "openai", model, prompt_bytes(first, self._settings.model), text.encode())

    def _client(self, ends: float) -> openai.OpenAI:
        settings = self._settings
        return openai.OpenAI(
            api_key=settings.api_key,
            base_url=settings.base_url,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,
                headers={"Accept-Encoding": "identity"},
                transport=BoundedTransport(self._clock, ends),
            ),
        )

    def _ask(self, client: openai.OpenAI, asked: Messages, ends: float, *, spent: bool = False) -> Completion:
        """One request, read to its end within the time that is left."""
        try:
            body = self._send(client, asked, ends)
        except openai.RateLimitError as error:
            wait = _asked_wait(error, _BUSY_SECONDS)
            raise _failed("the model's endpoint is too busy", wait, spent=spent) from None
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
            log.error("the model's endpoint refuses the key or the model", status=error.status_code)  # noqa: TRY400
            raise ProviderError("orchestrator_unconfigured", spent=spent) from None
        except openai.APIStatusError as error:
            log.warning("the model's endpoint failed", status=error.status_code)
            wait, is_refusal = _asked_wait(error, _WAIT_SECONDS), error.status_code < 500 or error.status_code == 503
            raise _failed("the model's endpoint failed", wait, spent=spent or not is_refusal) from None
        except (openai.OpenAIError, httpx2.HTTPError, TimeoutError) as error:
            was_sent = not isinstance(error.__cause__, _UNSENT)
            words = "the model's endpoint gave no answer" if was_sent else "the model's endpoint cannot be reached"
            raise _failed(words, _WAIT_SECONDS, spent=spent or was_sent) from None
        completion = read_completion(body)
        if completion is None:
            log.warning("the model's endpoint did not send a completion")
            raise ProviderError("invalid_orchestrator_output", spent=True)
        return completion

    def _send(self, client: openai.OpenAI, asked: Messages, ends: float) -> bytes:
        left = ends - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        # The SDK wants one of its typed dictionaries for each role.
        request = client.chat.completions.with_streaming_response.create(  # type: ignore[call-overload]
            model=self._settings.model,
            messages=asked,
            max_completion_tokens=self._settings.max_output_tokens,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "readiness_review", "strict": True, "schema": SCHEMA},
            },
            timeout=left,
        )
        received = bytearray()
        with request as response:
            for chunk in response.iter_bytes():
                received += chunk
                if self._clock.monotonic() > ends:
                    raise TimeoutError
                if len(received) > MAX_ANSWER_BYTES:
                    raise ProviderError("invalid_orchestrator_output", spent=True)
        return bytes(received)


def _last(completion: Completion) -> tuple[str, list[Issue]]:
    try:
        return read_review(completion)
    except UnusableAnswer as unusable:
        log.warning("the model's repaired answer cannot be used", problem=unusable.problem)
        raise ProviderError("invalid_orchestrator_output", spent=True) from None


def _failed(words: str, wait: int, *, spent: bool) -> ProviderError:
    log.warning(words, retry_after=wait)
    return ProviderError("orchestrator_provider_error", retry_after=wait, spent=spent)


def _asked_wait(error: openai.APIStatusError, default: int) -> int:
    """Seconds of the endpoint's Retry-After, within bounds; a date there is not read."""
    text = error.response.headers.get("retry-after", "")
    return max(1, min(_MAX_WAIT_SECONDS, int(text))) if text.isdigit() and len(text) <= 9 else default
