"""A Safe as people use it: an account that is a contract, signing with two of its three owners."""
