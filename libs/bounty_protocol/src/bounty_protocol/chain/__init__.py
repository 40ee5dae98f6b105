"""Access to the chain: deployment records, JSON-RPC, the Hub's ABI, calls and events."""
