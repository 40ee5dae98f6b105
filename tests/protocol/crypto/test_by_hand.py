"""The page's recipe for opening a Submission, followed by a Guardian who has nothing of this project."""

from pathlib import Path

import pytest
from bounty_protocol.crypto.artifact import seal_directory
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.x25519 import recipient_text
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import build_envelope
from bounty_protocol.types import Address, BountyId, ChainId, UnixSeconds

from tests.protocol.crypto.test_tlock_js import TlockJs, tlock_js
from tests.public_tools import PublicTools, commands_of, make_public_tools
from tests.vectors.samples import CONTENT, GUARDIAN_IDENTITIES, ROSTER

__all__ = ["tlock_js"]
HUB, SOLVER = Address("0x" + "ab" * 20), Address("0x" + "cd" * 20)


@pytest.fixture
def tools(tlock_js: TlockJs, tmp_path_factory: pytest.TempPathFactory) -> PublicTools:
    return make_public_tools(tmp_path_factory.mktemp("tools"), tlock_js.relay, tlock_js.chain.info)


@pytest.mark.parametrize("guardian", [0, 2])
def test_recipe_opens_what_was_sealed_here(tools: PublicTools, tmp_path: Path, guardian: int) -> None:
    source, desk = tmp_path / "source", tmp_path / "desk"
    (source / "deep" / "er").mkdir(parents=True)
    desk.mkdir()
    (source / "deep" / "er" / "ünïcode.txt").write_text("forty-two\n")
    (source / "run.sh").write_bytes(b"\0" * 200_000)
    binding = Binding(ChainId(31337), HUB, BountyId(7), SOLVER)
    sealed = seal_directory(source, CONTENT.public_key, binding, desk / "artifact.age")
    policy = tools.info.reveal_policy(UnixSeconds(tools.info.genesis_time + 10))
    envelope = build_envelope(
        binding=binding,
        spec_commitment=ROSTER.guardian_roster_hash,
        guardian_roster_hash=ROSTER.guardian_roster_hash,
        recipients_commitment=ROSTER.recipients_commitment,
        reveal_policy=policy,
        content_public_key=CONTENT.public_key,
        key_capsule=seal_capsule(CONTENT, binding, ROSTER.encryption_public_keys, policy.round, tools.info),
        ciphertext_sha256=sealed.sha256,
        ciphertext_byte_length=sealed.byte_length,
    )
    (desk / "envelope.json").write_bytes(envelope.canonical_bytes())
    (desk / "guardian.key").write_text(GUARDIAN_IDENTITIES[guardian].to_text() + "\n")

    printed = tools.follow("Open a Submission", desk).splitlines()

    assert printed == [
        envelope.commitment(),
        f"{sealed.sha256[2:]}  artifact.age",
        str(sealed.byte_length),
        f"{envelope.key_capsule_sha256[2:]}  capsule.tlock",
        f"-> tlock {policy.round} {tools.info.chain_hash[2:]}",
        str(len(ROSTER.encryption_public_keys)),
        recipient_text(CONTENT.public_key),
        f"# {binding.text()}",
        "1",
        binding.text(),
    ]
    assert (desk / "work/deep/er/ünïcode.txt").read_text() == "forty-two\n"
    assert (desk / "work/run.sh").read_bytes() == b"\0" * 200_000


def test_recipe_needs_nothing_of_this_project() -> None:
    for title in ("Open a Submission", "Seal a Submission"):
        assert "service" not in commands_of(title)
