"""The pages of the service, for people who will never type a command; read from the public API as anyone may."""
