"""Library code as a whole: run by Python itself on stand-ins for tensors, its tensor operations recorded.

The modules of a library (a transformer, a backbone) are full of Python that has nothing to do with
data: decorators, registries, caches. Here Python runs that code for real. Tensors and run-time
numbers are stand-ins (`stand_ins.py`); every torch function called on them goes through the
binding, as if the user had written it (`tracer.py`). Nothing is specialised to a size: where the
code decides by a run-time value, both ways are followed and meet again in the program (`explore.py`).
"""
