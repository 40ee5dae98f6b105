"""The api's routes, a module per resource: parse, call one use case, render."""
