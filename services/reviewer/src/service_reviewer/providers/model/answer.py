"""Reading a model's answer.

An answer either has exactly the promised shape, is within its lengths and consistent with itself, or it is refused with
a message that explains the fault to the model. Nothing is cut, filled in or guessed.
"""

from typing import Annotated, Final

from bounty_protocol.errors import MAX_ISSUE_MESSAGE, MAX_ISSUE_PATH, Issue
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service_reviewer.providers.model.prompt import MAX_ISSUES

_MAX_NAMED: Final = 5
_TEXT: Final = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
"""No control characters but lines and tabs: the record's database refuses some of them."""


class UnusableAnswer(Exception):
    """The answer is not a review; ``answer`` is its text, ``problem`` what is wrong with it."""

    def __init__(self, problem: str, answer: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.answer = answer


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Issue(_Strict):
    path: Annotated[str, Field(min_length=1, max_length=MAX_ISSUE_PATH, pattern=_TEXT)]
    message: Annotated[str, Field(min_length=1, max_length=MAX_ISSUE_MESSAGE, pattern=_TEXT)]


class _Review(_Strict):
    ready: bool
    issues: Annotated[list[_Issue], Field(max_length=MAX_ISSUES)]


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class Completion(BaseModel):
    """The members of a chat completion that are looked at."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    model: str = ""


def read_completion(body: bytes) -> Completion | None:
    """The endpoint's text, or None where it is not a chat completion."""
    try:
        return Completion.model_validate_json(body)
    except ValidationError:
        return None


def read_review(completion: Completion) -> tuple[str, list[Issue]]:
    """The answer's text and its issues, or ``UnusableAnswer``."""
    choice = completion.choices[0]
    text = choice.message.content or ""
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise UnusableAnswer("it is a refusal and no review", choice.message.refusal or text)
    if choice.finish_reason == "length":
        raise UnusableAnswer("it is cut off at its end; name fewer issues in fewer words", text)
    try:
        review = _Review.model_validate_json(text)
    except ValidationError as error:
        raise UnusableAnswer(_problems(error), text) from None
    if review.ready == bool(review.issues):
        raise UnusableAnswer('"ready" must be true exactly when "issues" is empty', text)
    return text, [Issue(issue.path, issue.message) for issue in review.issues]


def _problems(error: ValidationError) -> str:
    named = (
        f"{'.'.join(str(step) for step in one['loc']) or 'the answer'}: {one['msg']}"
        for one in error.errors(include_input=False, include_url=False)[:_MAX_NAMED]
    )
    return "; ".join(named)
