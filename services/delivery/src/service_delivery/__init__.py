"""The only holder of the delivery private keys: stores wrapped content keys, rewraps the winner's to the Poster."""
