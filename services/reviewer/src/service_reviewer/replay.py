"""``service-reviewer replay ID``: judge a recorded page again and report what came out differently.

The same page and circumstances go through the recorded provider; nothing is written and no Poster is charged. The
rules give the same output every time; a model may not, and a paid one is paid again (outside the daily cap, since an
operator wanted it).
"""

from pathlib import Path

from bounty_protocol.clock import SystemClock
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Bytes32, UnixSeconds
from service_common.reviews import Circumstances
from sqlalchemy import Engine

from service_reviewer.config import ReviewerConfig
from service_reviewer.jobs import material_of
from service_reviewer.judgement import NoJudgement
from service_reviewer.model import judge_by_model
from service_reviewer.records import find_record, hashes_of, result_of
from service_reviewer.rules import judge_by_rules


class ReplayError(Exception):
    """The review cannot be repeated; the message names the reason."""


def replay(config: ReviewerConfig, engine: Engine, review_id: Bytes32, page_file: Path | None) -> dict[str, object]:
    """The recorded result, the repeated one, and which hashes are the same."""
    record = find_record(engine, review_id)
    if record is None:
        raise ReplayError(f"there is no record of a review {review_id}")
    if page_file is None and record["page"] is None:
        raise ReplayError("the page was not kept, since it seems to hold a secret: name its file with --page")
    try:
        page = bytes(record["page"]) if page_file is None else page_file.read_bytes()
    except OSError as error:
        raise ReplayError(f"{page_file} cannot be read: {error.strerror}") from error
    by_rules = record["provider"] == "rules"
    if not by_rules and config.model is None:
        provider = record["provider"]
        raise ReplayError(f"the review was made by {provider}: set SERVICE_REVIEW_PROVIDER and its variables")
    circumstances = Circumstances.from_fields(record["circumstances"] or {})
    try:
        material = material_of(page, circumstances or Circumstances(UnixSeconds(0), 0, "USDC", 6))
        if by_rules or config.model is None:
            judgement = judge_by_rules(material)
        else:
            judgement = judge_by_model(config.model, material, SystemClock())
    except NoJudgement as reason:
        raise ReplayError(f"the provider gave no judgement: {reason.ending.code}") from reason
    now = hashes_of(page, judgement)
    return {
        "review_id": review_id,
        "provider": record["provider"],
        "model": record["model"],
        "rubric_version": record["rubric_version"],
        "recorded": record["result"],
        "repeated": result_of(judgement).value,
        "same": {
            "input": now["input_hash"] == record["input_hash"],
            "rubric": current_rubric().hash == record["rubric_hash"],
            "prompt": now["prompt_hash"] == record["prompt_hash"],
            "model": judgement.model == record["model"],
            "output": now["output_hash"] == record["output_hash"],
            "result": result_of(judgement).value == record["result"],
        },
        "issues": [{"path": issue.path, "message": issue.message} for issue in judgement.issues],
    }
