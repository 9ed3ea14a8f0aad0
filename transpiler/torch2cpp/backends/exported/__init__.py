"""What the backends share that take a region through torch.export.

suitable    whether a region can go that way, judged by its operations and types
export      the region as an ExportedProgram with symbolic sizes
shapes      the sizes, relations and strides that the exported program relies on
guards      the same as text for the region's C++ class, which checks them on every call
"""
