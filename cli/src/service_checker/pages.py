"""Challenges that the pages show as plain text, compared with the replay."""

from eth_utils.crypto import keccak

from service_checker.asking import PublicApi
from service_checker.reading import AnswerCheck


def check_texts(reading: AnswerCheck, pages: PublicApi, bounty_ids: list[int]) -> None:
    """The challenge of each of these bounties as plain text; one that is not shown is counted."""
    world = reading.moment(reading.chain.head.number).world
    for bounty_id, bounty in ((each, world.bounties[each]) for each in bounty_ids if each in world.bounties):
        path = f"/bounties/{bounty_id}/challenge.md"
        answer = pages.get(path)
        if answer.status in {404, 451}:
            reading.findings.skip("pages.challenge", path)
        elif reading.findings.same("pages.challenge", f"{path} status", 200, answer.status):
            hashed = "0x" + keccak(answer.body).hex()
            reading.findings.same("pages.challenge", path, bounty.created.text("spec_commitment"), hashed)
