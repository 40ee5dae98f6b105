"""The commands, one module each; ``run`` is the click command."""
