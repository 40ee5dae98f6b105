"""Follows the Hub event log into ``hub_index``, the indexed copy that authorization and reads rely on."""
