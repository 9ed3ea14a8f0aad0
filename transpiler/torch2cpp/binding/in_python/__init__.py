"""Functions of Python's library whose meaning is written down as Python: they are interpreted in place.

The modules here hold plain Python, one per library. Calls of the library's functions with run-time
arguments bind these bodies; the places of what they do and raise are those of the caller.
"""
