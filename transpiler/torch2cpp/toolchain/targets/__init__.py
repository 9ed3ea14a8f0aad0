"""Machines other than this one: what their programs are built with, and how they run here.

target      the names, and what is known of each
elf         what a binary says of itself: machine, libraries, glibc
fetch       wheels of the target's libraries, unpacked
store       `torch2cpp target add`: what a target is built with, kept in the cache folder
emulator    programs of the target run on this machine
toolchain   all of it together, for those who build and run
"""
