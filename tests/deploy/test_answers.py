"""An overlay rendered with its operator's answers: complete, or refused with a sentence for each line."""

import re
from pathlib import Path

import pytest
import yaml
from bounty_protocol.crypto.x25519 import Identity, recipient_text
from kustomization.__main__ import main
from kustomization.answers import QUESTIONS, REGISTRY, AnswersError, read_answers
from kustomization.render import containers
from kustomization.unset import unset

from .manifests import OVERLAYS

RECIPIENT = recipient_text(Identity.generate().public_key)
GOOD = {
    "SERVICE_PUBLIC_HOST": "bounties.your.org",
    "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20,
    "SERVICE_DEPLOY_BLOCK": "123",
    "SERVICE_STORAGE_BUCKET": "your-bucket",
    "SERVICE_BACKUP_BUCKET": "your-backups",
    "SERVICE_BACKUP_RECIPIENTS": f"{RECIPIENT},{RECIPIENT}",
    REGISTRY: "registry.your.org/bounty-escrow",
}


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["manifests", *arguments])
    code = main()
    out, words = capsys.readouterr()
    return code, out, words


def written(path: Path, answers: dict[str, str], *more: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in (*(f"{key}={value}" for key, value in answers.items()), *more)))
    return path


def test_questions__are_all_that_any_overlay_leaves_to_be_set() -> None:
    for objects in OVERLAYS.values():
        asked = {re.split("[ :]", text)[0] for text in unset(objects) if text.startswith("SERVICE_")}
        assert asked == set(QUESTIONS) - {REGISTRY}


@pytest.mark.parametrize("overlay", ["staging", "mainnet", "small"])
def test_overlay__with_every_question_answered__has_nothing_left_to_be_set(
    overlay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, template, _ = printed(monkeypatch, capsys, overlay, "--questions")
    filled = re.sub(r"^([A-Z_]+)=$", lambda found: f"{found[1]}={GOOD[found[1]]}", template, flags=re.MULTILINE)
    (tmp_path / "answers").write_text(filled)
    code, out, words = printed(monkeypatch, capsys, overlay, "--answers", str(tmp_path / "answers"))
    assert (code, words) == (0, "")
    objects = list(yaml.safe_load_all(out))
    assert len(objects) == len(OVERLAYS[overlay])
    images = {container["image"] for each in objects for container in containers(each)}
    assert {image for image in images if "service-" in image} == {
        image for image in images if image.startswith(f"{GOOD[REGISTRY]}/service-")
    }
    hosts = [each for each in objects if each["kind"] in {"Ingress", "Gateway"}]
    assert hosts
    assert all(".example" not in str(each) and "bounties.your.org" in str(each) for each in hosts)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("SERVICE_PUBLIC_HOST", "https://bounties.your.org"),
        ("SERVICE_PUBLIC_HOST", "bounties.example"),
        ("SERVICE_HUB_ADDRESS", "0x" + "ab" * 19),
        ("SERVICE_DEPLOY_BLOCK", "-1"),
        ("SERVICE_DEPLOY_BLOCK", "0x10"),
        ("SERVICE_STORAGE_BUCKET", "gs://your-bucket"),
        ("SERVICE_BACKUP_RECIPIENTS", "age1a, age1b"),
        ("SERVICE_BACKUP_RECIPIENTS", "none"),
        (REGISTRY, "https://registry.your.org"),
        (REGISTRY, "bounty-escrow"),
        ("SERVICE_PUBLIC_HOST", ""),
    ],
)
def test_answer__that_is_wrong__is_named_by_its_setting_and_nothing_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    path = written(tmp_path / "answers", GOOD | {key: value})
    code, out, words = printed(monkeypatch, capsys, "staging", "--answers", str(path))
    assert (code, out) == (1, "")
    assert key in words
    assert "HIDDEN" not in words


@pytest.mark.attack
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("SERVICE_RPC_QUORUMS=2", "is it SERVICE_RPC_QUORUM?"),
        ("SERVICE_DATABASE_URL=postgresql://service_api:hidden@host/service", "belongs into a Secret"),
        ("SERVICE_SETTLER_PRIVATE_KEY=0x" + "ab" * 32, "belongs into a Secret"),
        ("SERVICE_DEPLOY_BLOCK=124", "answered twice"),
        ("SERVICE_CHAIN_ID=none", "cannot be done without"),
        ("SERVICE_RPC_QUORUM=" + "ab" * 32, "belongs into a Secret"),
        ("and nothing else", "not of the form KEY=value"),
        ("service_rpc_quorum=2", "not of the form KEY=value"),
    ],
)
def test_line__that_is_no_answer__is_refused_without_its_value(tmp_path: Path, line: str, problem: str) -> None:
    path = written(tmp_path / "answers", GOOD, line)
    with pytest.raises(AnswersError, match=re.escape(problem)) as refused:
        read_answers(path, OVERLAYS["staging"])
    assert str(refused.value).startswith("line 8: ")
    assert "hidden" not in str(refused.value)


def test_setting__that_has_a_value__may_be_answered_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "answers", GOOD, "SERVICE_RPC_QUORUM=2")
    _, out, _ = printed(monkeypatch, capsys, "small", "--answers", str(path))
    maps = [each["data"] for each in yaml.safe_load_all(out) if each["kind"] == "ConfigMap"]
    assert [data["SERVICE_RPC_QUORUM"] for data in maps if "SERVICE_RPC_QUORUM" in data] == ["2"]
