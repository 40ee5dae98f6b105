"""Where traces go, as configured."""

from pathlib import Path

import pytest
from service_common.config import ConfigurationError, EnvironmentReader
from service_common.traces.settings import TraceSettings, read_trace_settings


def read(**variables: str) -> TraceSettings:
    reader = EnvironmentReader(variables)
    settings = read_trace_settings(reader)
    reader.check()
    return settings


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("http://collector:4318/", "http://collector:4318/v1/traces"),
        ("https://user:word@collector.example", "https://user:word@collector.example/v1/traces"),
        ("https://collector.example/otlp/traces?token=word", "https://collector.example/otlp/traces?token=word"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ],
)
def test_endpoint__an_origin_or_an_address__is_where_spans_are_sent(text: str, address: str) -> None:
    assert read(SERVICE_OTLP_ENDPOINT=text).endpoint == address


def test_endpoint__from_a_file_or_not_at_all__is_read_or_off(tmp_path: Path) -> None:
    file = tmp_path / "endpoint"
    file.write_text("http://collector:4318\n")
    assert read(SERVICE_OTLP_ENDPOINT_FILE=str(file)).endpoint == "http://collector:4318/v1/traces"
    assert read() == read(SERVICE_OTLP_ENDPOINT="") == TraceSettings(None, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "collector:4318", "grpc://collector:4317", "http://", "http://word@:4318", "http://collector:word",
        "http://collector:70000", "http://collector/word#word", "http://col lector/word", "http://[word", "word",
    ],
)  # fmt: skip
def test_endpoint__malformed__is_refused_without_its_text(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(SERVICE_OTLP_ENDPOINT=text)
    assert "SERVICE_OTLP_ENDPOINT is malformed" in str(refused.value)
    assert "word" not in str(refused.value)


@pytest.mark.parametrize(("text", "ratio"), [("0", 0.0), ("1", 1.0), ("0.05", 0.05), ("1e-3", 0.001)])
def test_ratio__from_0_to_1__is_taken(text: str, ratio: float) -> None:
    assert read(SERVICE_TRACE_RATIO=text).ratio == ratio


@pytest.mark.parametrize("text", ["-0.1", "1.1", "nan", "inf", "half", "50%"])
def test_ratio__outside_or_no_number__is_refused_with_the_other_mistakes(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(SERVICE_TRACE_RATIO=text, SERVICE_OTLP_ENDPOINT="nowhere")
    assert len(refused.value.problems) == 2


def test_settings__shown__say_no_address() -> None:
    assert "word" not in repr(read(SERVICE_OTLP_ENDPOINT="https://user:word@collector.example"))
