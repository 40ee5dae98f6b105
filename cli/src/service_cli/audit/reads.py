"""The answers of the Hub's views, by field.

Promises: an answer that is not of the ABI's shape is None, never half read.
"""

from service_common.chain.abi import hub_abi, snake_case

from service_cli.audit.evidence import Read


def answer_of(read: Read) -> dict[str, object] | None:
    """A view's answer by field; a struct's fields by their own names. None where it is not of the ABI's shape."""
    codec = hub_abi().functions[read.function]
    try:
        values = codec.decode(read.answer)
    except ValueError:
        return None
    outputs = codec.outputs
    if len(outputs) == 1 and outputs[0].fields:
        outputs, inner = outputs[0].fields, values[0]
        values = inner if isinstance(inner, tuple) else ()
    return {snake_case(output.name): value for output, value in zip(outputs, values, strict=True)}
