"""The Bounty Escrow Service over the Model Context Protocol."""
