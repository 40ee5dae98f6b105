"""What an operator does to the Hub from outside: deploy it, act as its owner. A dry run unless ``--send`` is given."""
