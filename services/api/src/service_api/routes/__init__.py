"""The api's routes, a room per resource: parse, call one use case, render."""
