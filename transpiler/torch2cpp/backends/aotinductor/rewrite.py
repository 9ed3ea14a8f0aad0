"""Inductor's wrapper, cut down to its kernels and its run function.

As generated, two wrappers do not link into one program: the kernels are `extern "C"` with equal
names. Here the kernels become local to a namespace of the region, and the model class, which
carries the machinery for loading shared objects, gives way to a struct with the weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

from torch2cpp.backends.aotinductor.generate import MODEL
from torch2cpp.backends.exported.export import NotExportable

_RUN_START = f"void AOTInductorModel{MODEL}::run_impl("
_RUN_END = f"}} // AOTInductorModel{MODEL}::run_impl"
#: Functions of Inductor's own that divide ints; c10's divide indices, never by zero.
_DIVIDES = re.compile(r"(?<!c10::)\b(?:\w*divide\w*|\w*remainder\w*|mod|div\w*)\s*[(<]")
_INCLUDES = ("aoti_include/cpu.h", "cpp_prefix.h", f'"{MODEL}.h"')
#: Operators of oneDNN, such as its recurrent layers: this machine's libtorch has them, another's may lack them.
_ONEDNN = "aoti_torch/c/shim_cpu.h"


@final
@dataclass(frozen=True, slots=True)
class RegionCode:
    """The parts of a region's generated code, ready for its namespace."""

    #: `CACHE_TORCH_DTYPE(float32);` and the like.
    cached: str
    kernels: str
    #: Body of `run(inputs, outputs)`, between its braces.
    run: str
    #: Weight slots in the order the code numbers its constants.
    constants: tuple[int, ...]
    #: Whether a kernel divides ints: such kernels share one variable of the process for their errors.
    divides: bool
    #: Whether it calls operators of oneDNN.
    onednn: bool = False


def rewrite(wrapper: str, threads: int, onednn: bool = True) -> RegionCode:
    """Cuts the text apart; `threads` is the number of threads Inductor generated it for.

    It may call operators of `onednn` where the program has them. Raises NotExportable where it holds what is not known
    here.
    """
    start, end = wrapper.find(_RUN_START), wrapper.find(_RUN_END)
    if start < 0 or end < 0:
        raise NotExportable("Inductor's code has another form than expected")
    run = wrapper[wrapper.index(") {", start) + 3 : end]
    tail = wrapper[end + len(_RUN_END) :].split("} // namespace torch::aot_inductor", 1)
    includes = re.findall(r"^#include (.*)$", wrapper, re.MULTILINE)
    for include in includes:
        if not any(known in include for known in (*_INCLUDES, *((_ONEDNN,) if onednn else ()))):
            raise NotExportable(f"Inductor's code includes {include}")
    kernels = re.sub(r"^#include .*$", "", tail[1] if len(tail) == 2 else "", flags=re.MULTILINE)
    # Behind the last kernel stand the commands that would have compiled it, with this machine's folders.
    kernels = _local_kernels(kernels[: kernels.rfind("\n}") + 2])
    if re.search(r"\bproxy_executor\b", run):
        names = _without_entry(run)
        raise NotExportable(f"the C ABI has no entry for {', '.join(sorted(names))}", frozenset(names))
    cached = "\n".join(re.findall(r"^CACHE_TORCH_\w+\(\w+\);$", wrapper, re.MULTILINE))
    constants = _constants(wrapper, run)
    kernels, divides = _without_division_errors(kernels)
    kernels = _limited_threads(kernels, threads)
    calls_onednn = any(_ONEDNN in include for include in includes)
    return RegionCode(cached, kernels.strip("\n"), _plain_run(run).strip("\n"), constants, divides, calls_onednn)


def raises_in_parallel(wrapper: str) -> bool:
    """Whether a kernel may raise inside a parallel section, which would end the program."""
    kernels = wrapper.partition(_RUN_END)[2].split('extern "C"')
    return any("#pragma omp parallel" in k and "AOTI_TORCH_CHECK(" in k for k in kernels)


def _local_kernels(text: str) -> str:
    out, kernels = re.subn(r'^extern "C"\s+void\s+', "static void ", text, flags=re.MULTILINE)
    if 'extern "C"' in out:
        raise NotExportable(f"Inductor's code exports more than its {kernels} kernels")
    return out


def _without_division_errors(text: str) -> tuple[str, bool]:
    """Without the bookkeeping for divisions of ints by zero in kernels that divide none; whether any does.

    It goes through one variable of the process, which calls in several threads would race for.
    """
    kernels = text.split("static void ")
    divides = False
    for i, kernel in enumerate(kernels):
        if _DIVIDES.search(kernel):
            divides = True
        else:
            kernels[i] = re.sub(r"^.*inductor_cpu_\w*integer_div_error.*\n", "", kernel, flags=re.MULTILINE)
    return "static void ".join(kernels), divides


def _limited_threads(text: str, threads: int) -> str:
    """Each thread has its place in arrays of that many; the program may run with fewer threads, never with more."""
    return re.sub(
        r"#pragma omp parallel(?: num_threads\(\d+\))?$",
        f"#pragma omp parallel num_threads(std::min({threads}, omp_get_max_threads()))",
        text,
        flags=re.MULTILINE,
    )


def _constants(wrapper: str, run: str) -> tuple[int, ...]:
    count = len(re.findall(r"constants_info_\[\d+\]\.name = ", wrapper))
    names = dict(re.findall(r'constants_info_\[(\d+)\]\.name = "(\w+)";', wrapper))
    out = []
    for i in range(count):
        slot = re.fullmatch(r"w(\d+)", names.get(str(i), ""))
        if slot is None:
            raise NotExportable(f"Inductor made a constant of its own: {names.get(str(i))}")
        out.append(int(slot[1]))
    return tuple(out)


def _plain_run(run: str) -> str:
    """Without what the class did: checks that an environment variable turns on, and the kernels' table."""
    run = re.sub(r"^\s*__check_inputs_outputs\(.*?\);\n", "", run, flags=re.MULTILINE)
    run = re.sub(r"^.*auto& kernels = static_cast<AOTInductorModelKernels&>.*\n", "", run, flags=re.MULTILINE)
    # Inputs are laid out by the caller; what an operator returns is checked, always: the code was
    # generated for those strides.
    run = re.sub(r"^\s*if \(_check_aoti_runtime_check_inputs_env\(\)\) \{ assert_size_stride\(arg.*\n", "", run,
                 flags=re.MULTILINE)  # fmt: skip
    run = run.replace("if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(", "{ assert_size_stride(")
    if "_check_aoti_runtime_check_inputs_env" in run or "kernels." in run:
        raise NotExportable("Inductor's code has another form than expected")
    return run.replace("this->device_idx_", "kDevice").replace("constants_->at(", "constants.at(")


def _without_entry(run: str) -> set[str]:
    """Operators that only Python's registry could run, such as `aten.bincount`."""
    names = set()
    for call in re.finditer(r"aoti_torch_proxy_executor_call_function\(", run):
        # Its results' strides are checked under the operator's name; else the comment before it tells.
        after = re.search(r'"torch\.ops\.(\w+\.\w+)\.\w+"', run[call.end() :].split("// Topologically", 1)[0])
        before = re.findall(r"Original ATen: \[(.*?)\]", run[: call.start()])
        if after is not None:
            names.add(after[1])
        elif before:
            names.add(before[-1].split(", ")[-1])
    return names
