"""Schema ``settler``: what the settler has sent. Sole writer: the settler.

The signed transaction is here before it is sent, so that a restart sends the same bytes again and never a second
transaction for the same bounty beside the first. ``attempts`` is 0 if every node refused the last one because the
key lacks ether: no node has it.
"""

from service_common.db.tables import read_tables

SCHEMA = "settler"
settlements = read_tables(SCHEMA)["settlements"]
