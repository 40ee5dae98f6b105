"""Sealing and opening: public formats only, strict readers, constant memory. Importing the package imports nothing."""
