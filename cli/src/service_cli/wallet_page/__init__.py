"""One page on this machine where a browser wallet signs or sends what a command has prepared."""
