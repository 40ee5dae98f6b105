"""An operator's acts on the Hub: deploy it, act as its owner. A dry run unless ``--send`` is given."""
