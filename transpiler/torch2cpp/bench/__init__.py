"""Times side by side: the C++ and its rivals, in one process, in turns.

rivals       what a rival is; eager, torch.compile, frozen TorchScript
pieces       DyCL's own way: each branch-free piece an ONNX graph, driven from Python
ours         the emitted C++, and the time it spends in its regions
measure      turns, medians
result       rows, JSON, a table
ablate       what each pass brings
run          all of it for one project
"""
