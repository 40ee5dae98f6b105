"""The delivery service's routes: the same paths the api forwards."""
