"""The example of ``tests/README.md`` for this folder."""

from tests.readme import example

globals().update(example("tests/indexer"))
