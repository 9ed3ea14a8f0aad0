"""Regions as OpenVINO models, run on the CPU.

    convert     region -> OpenVINO's graph format, weights as parameters
    package     where the library is, for CMake and on this machine
    backend     the classes around the graphs

The graphs are part of the program's text; when the program starts, the weights of weights.safetensors
take the place of the parameters, before OpenVINO optimises the graph.
"""

from torch2cpp.backends.openvino.backend import OpenVinoBackend

__all__ = ["OpenVinoBackend"]
