"""Request authentication: one EIP-712 signature proves one exact request. See ``verify.verify_request``."""
