"""What people at a terminal meet: a question before mainnet money, progress bars, keys kept from child processes."""

import io
import os
import sys

import pytest
from service_cli.chain.signer import ExternalSigner, local_signer
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.shell.command import confirm
from service_common.types import Address, ChainId

KEY = "0x" + "42" * 32


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def settings(chain_id: int) -> Settings:
    return Settings(Environment({}, {}), ChainId(chain_id), None, None)


@pytest.mark.parametrize("typed", ["", "\n", "y\n", "no\n", "YES\n"])
def test_confirm__on_mainnet_at_a_terminal_without_yes__signs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    with pytest.raises(CommandRefused) as refused:
        confirm(settings(8453), "put 5 base units into escrow", yes=False)
    assert refused.value.code == "not_confirmed"
    told = capsys.readouterr()
    assert (told.out, "put 5 base units into escrow on mainnet" in told.err) == ("", True)


@pytest.mark.parametrize(
    ("chain_id", "stream", "yes", "asked"),
    [
        (8453, Terminal("yes\n"), False, True),
        (8453, Terminal(""), True, False),
        (8453, io.StringIO(""), False, False),
        (84532, Terminal(""), False, False),
    ],
    ids=["typed yes", "--yes", "no terminal", "staging"],
)
def test_confirm__with_consent_or_nobody_to_ask__goes_on(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chain_id: int,
    stream: io.StringIO,
    yes: bool,
    asked: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", stream)
    confirm(settings(chain_id), "put 5 base units into escrow", yes=yes)
    assert ("Type yes" in capsys.readouterr().err) == asked


def test_local_signer__once_it_has_the_key__takes_it_from_the_environment_and_never_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_POSTER_PRIVATE_KEY", KEY)
    signer = local_signer(Environment(dict(os.environ), {}), "SERVICE_POSTER_PRIVATE_KEY")
    assert "SERVICE_POSTER_PRIVATE_KEY" not in os.environ
    assert KEY[2:] not in repr(signer) + str(signer)
    typed = {
        "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Thing": [{"name": "n", "type": "uint256"}]},
        "primaryType": "Thing",
        "domain": {"name": "Service"},
        "message": {"n": "7"},
    }
    assert len(signer.sign_typed_data(typed, "a thing")) == 65
    assert capsys.readouterr().err == "signing: a thing\n"


def test_external_signer__asked_twice__prints_the_typed_data_each_time_and_reads_one_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f" 0x{'AB' * 65} \n{'cd' * 99}\nrest"))
    signer = ExternalSigner(Address("0x" + "11" * 20))
    assert [signer.sign_typed_data({"n": n}, "it") for n in (1, 2)] == [b"\xab" * 65, b"\xcd" * 99]
    assert capsys.readouterr().out.count('"submit.approval_required"') == 2
    assert sys.stdin.read() == "rest"
