"""``service-reviewer replay ID``: judge a recorded page again and report what came out differently.

The same page and circumstances go through the configured provider; nothing is written and no Poster is charged. The
rules give the same output every time; a model may not, and a paid one is paid again (outside the daily cap, since an
operator wanted it).
"""

from pathlib import Path

from bounty_protocol.rubric import Rubric, current_rubric
from bounty_protocol.types import Bytes32, UnixSeconds
from service_common.reviews import Circumstances
from sqlalchemy import Engine

from service_reviewer.config import ReviewerConfig
from service_reviewer.jobs import judge
from service_reviewer.providers.bounded import BoundedRules
from service_reviewer.providers.port import Provider, ProviderError
from service_reviewer.providers.rules import RulesProvider
from service_reviewer.record import Record, hashes_of, load_record, result_of


class ReplayError(Exception):
    """The review cannot be repeated; the message names the reason."""


def replay(config: ReviewerConfig, engine: Engine, review_id: Bytes32, page_file: Path | None) -> dict[str, object]:
    """The recorded result, the repeated one, and which hashes are the same."""
    record = load_record(engine, review_id)
    if record is None:
        raise ReplayError(f"there is no record of a review {review_id}")
    page = _page(record, page_file)
    circumstances = record.circumstances or Circumstances(UnixSeconds(0), 0, "USDC", 6)
    rubric = current_rubric()
    try:
        judgement = judge(_provider(config, record, rubric), page, circumstances)
    except ProviderError as error:
        raise ReplayError(f"the provider gave no judgement: {error.ending.code}") from error
    now = hashes_of(page, judgement)
    same: dict[str, bool] = {
        "input": now["input_hash"] == record.input_hash,
        "rubric": rubric.hash == record.rubric_hash,
        "prompt": now["prompt_hash"] == record.prompt_hash,
        "model": judgement.model == record.model,
        "output": now["output_hash"] == record.output_hash,
        "result": result_of(judgement) is record.result,
    }
    return {
        "review_id": review_id,
        "provider": record.provider,
        "model": record.model,
        "rubric_version": record.rubric_version,
        "recorded": record.result.value,
        "repeated": result_of(judgement).value,
        "same": same,
        "issues": [{"path": issue.path, "message": issue.message} for issue in judgement.issues],
    }


def _page(record: Record, page_file: Path | None) -> bytes:
    if page_file is not None:
        try:
            return page_file.read_bytes()
        except OSError as error:
            raise ReplayError(f"{page_file} cannot be read: {error.strerror}") from error
    if record.page is None:
        raise ReplayError("the page was not kept, since it seems to hold a secret: name its file with --page")
    return bytes(record.page)


def _provider(config: ReviewerConfig, record: Record, rubric: Rubric) -> Provider:
    if record.provider == "rules":
        return BoundedRules(RulesProvider(rubric))
    if config.model is None:
        raise ReplayError(f"the review was made by {record.provider}: set SERVICE_REVIEW_PROVIDER and its variables")
    from bounty_protocol.clock import SystemClock

    from service_reviewer.providers.model.provider import ModelProvider

    return ModelProvider(config.model, rubric, SystemClock())
