"""Schema ``delivery``: wrapped content keys. Sole writer, and sole reader: the delivery service."""

from service_common.db.tables import read_tables

SCHEMA = "delivery"
wraps = read_tables(SCHEMA)["wraps"]
