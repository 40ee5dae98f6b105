"""Which addresses a webhook may have, and which machines may be behind them."""

import ipaddress

import pytest
from service_api.webhooks.names import Lookup
from service_api.webhooks.receivers import NotPublic, Receiver, ReceiverRules, is_public, machines_of, parse_receiver

RULES = ReceiverRules()
LOCAL = ReceiverRules(loopback=True)


@pytest.mark.parametrize(
    ("text", "receiver"),
    [
        ("https://receiver.example", Receiver(True, "receiver.example", 443, "/")),
        ("https://Receiver.Example/a/b?token=x", Receiver(True, "receiver.example", 443, "/a/b?token=x")),
        ("https://receiver.example:443/", Receiver(True, "receiver.example", 443, "/")),
        ("https://receiver.example?x", Receiver(True, "receiver.example", 443, "/?x")),
        ("https://xn--bcher-kva.example/", Receiver(True, "xn--bcher-kva.example", 443, "/")),
        ("https://1.2.3.4.example/", Receiver(True, "1.2.3.4.example", 443, "/")),
    ],
)
def test_address__of_a_public_name__is_read(text: str, receiver: Receiver) -> None:
    assert parse_receiver(text, RULES) == receiver


@pytest.mark.parametrize(
    "text",
    [
        "",
        "receiver.example",
        "http://receiver.example/",
        "ftp://receiver.example/",
        "https://",
        "https:///path",
        "https://user@receiver.example/",
        "https://user:password@receiver.example/",
        "https://receiver.example/#fragment",
        "https://receiver.example/a b",
        "https://receiver.example/a\nb",
        "https://receiver.example/\r\nHost: other",
        "https://receiver.example\\@127.0.0.1/",
        "https://receiver.example:444/",
        "https://receiver.example:0/",
        "https://receiver.example:99999/",
        "https://receiver.example:/",
        "https://receiver.example./",
        "https://.receiver.example/",
        "https://receiver..example/",
        "https://-receiver.example/",
        "https://receiver_.example/",
        "https://bücher.example/",
        "https://receiver\u3002example/",
        "https://localhost/",
        "https://intranet/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://example.0x1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://receiver.example/" + "a" * 1_024,
    ],
)
def test_address__of_another_form__is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        parse_receiver(text, RULES)


def test_address__with_a_port_that_the_deployment_allows__is_read() -> None:
    rules = ReceiverRules(ports=frozenset({443, 8443}))
    found = parse_receiver("https://receiver.example:8443/", rules)
    assert (found.port, found.host_field) == (8443, "receiver.example:8443")
    with pytest.raises(ValueError, match="443 or 8443"):
        parse_receiver("https://receiver.example:8444/", rules)


def test_address__of_this_machine__is_read_on_a_local_network_alone() -> None:
    assert parse_receiver("http://127.0.0.1:8000/x", LOCAL) == Receiver(False, "127.0.0.1", 8000, "/x")
    for text in ("http://10.0.0.1/", "http://receiver.example/", "http://127.0.0.2/"):
        with pytest.raises(ValueError, match="address"):
            parse_receiver(text, LOCAL)


@pytest.mark.parametrize(
    ("machine", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("64:ff9b::5db8:d822", True),  # NAT64 of 93.184.216.34
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b:1::5db8:d822", False),
        ("0.0.0.0", False),  # noqa: S104
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("172.16.0.1", False),
        ("192.0.0.8", False),
        ("192.0.2.1", False),
        ("192.88.99.1", False),
        ("192.168.1.1", False),
        ("198.18.0.1", False),
        ("203.0.113.1", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("::ffff:93.184.216.34", False),
        ("::ffff:127.0.0.1", False),
        ("::93.184.216.34", False),
        ("2001::1", False),
        ("2001:db8::1", False),
        ("2002:7f00:1::", False),
        ("2002:5db8:d822::", False),
        ("3fff::1", False),
        ("fc00::1", False),
        ("fd00:ec2::254", False),
        ("fe80::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
    ],
)
def test_machine__by_its_address__is_public_or_not(machine: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(machine)) is public


def lookup_of(*machines: str) -> Lookup:
    """What the DNS has of any name: these addresses."""
    return lambda _name, _seconds: machines


@pytest.mark.parametrize(
    "machines",
    [
        ("93.184.216.34", "10.0.0.1"),
        ("2606:2800:220:1:248:1893:25c8:1946", "::1"),
        ("fe80::1",),
        ("127.0.0.1",),
    ],
)
def test_name__of_which_one_machine_is_not_public__is_not_sent_to(machines: tuple[str, ...]) -> None:
    receiver = parse_receiver("https://receiver.example/", LOCAL)  # a name that points at this machine is no exception
    for rules in (RULES, LOCAL):
        with pytest.raises(NotPublic):
            machines_of(receiver, rules, lookup_of(*machines), 1.0)


def test_name__of_public_machines__has_the_first_of_them_each_once() -> None:
    receiver = parse_receiver("https://receiver.example/", RULES)
    found = machines_of(
        receiver, RULES, lookup_of("93.184.216.34", "93.184.216.34", "1.1.1.1", "8.8.8.8", "9.9.9.9"), 1.0
    )
    assert [str(each) for each in found] == ["93.184.216.34", "1.1.1.1", "8.8.8.8"]
    with pytest.raises(OSError, match="no address"):
        machines_of(receiver, RULES, lookup_of(), 1.0)
