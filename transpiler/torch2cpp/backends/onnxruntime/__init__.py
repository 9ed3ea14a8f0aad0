"""Regions as ONNX graphs, run by ONNX Runtime.

    export_onnx    region -> ONNX graph with its weights outside
    package        where the library is, for CMake and on this machine
    backend        the classes around the graphs

The graphs are part of the program's text; the weights stay in weights.safetensors and are handed to
ONNX Runtime when the program starts, before it optimises the graph.
"""

from torch2cpp.backends.onnxruntime.backend import OnnxRuntimeBackend

__all__ = ["OnnxRuntimeBackend"]
