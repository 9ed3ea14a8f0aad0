"""Regions as TorchScript: their text is part of the program, which makes a frozen module of it when it starts.

    write_script    region -> the TorchScript definition of `forward`
    backend         the classes around it

Nothing is traced: TorchScript has the ATen operators that the region consists of, so sizes, numbers
and lists decided at run time stay what they are. The weights come from weights.safetensors.
"""

from torch2cpp.backends.torchscript.backend import TorchScriptBackend

__all__ = ["TorchScriptBackend"]
