"""The public API as the pages read it: bounded, kept for seconds, parsed once into the shapes of the interface."""
