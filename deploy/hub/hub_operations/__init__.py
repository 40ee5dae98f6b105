"""What an operator does to the Hub from outside: deploy it, and act as its owner. Dry runs unless told to send."""
