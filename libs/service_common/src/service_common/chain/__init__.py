"""Access to the chain: deployment records, JSON-RPC, the Hub's ABI and events, and the block facts requests need."""
