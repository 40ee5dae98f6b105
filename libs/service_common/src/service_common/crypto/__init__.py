"""Sealing and opening: public formats only, strict readers, constant memory. Importing the room imports nothing."""
