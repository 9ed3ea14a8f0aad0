"""Calls slim's operators one by one from Python: a shared library with a C function for each, through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from torch2cpp.backends.sample_file import DTYPE_CODES
from torch2cpp.backends.slim.operators import function_name, operators
from torch2cpp.emit.environment import shipped
from torch2cpp.toolchain.tools import compiler

_INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
#: Numbers in the C ABI of the dtypes that slim computes in.
NUMBERS = {dtype: DTYPE_CODES[dtype] for dtype in (*_INTS, *_FLOATS, torch.bool)}
_OF_NUMBER = {number: dtype for dtype, number in NUMBERS.items()}
_MOST_RESULTS = 64

_HEAD = """
#include <torch2cpp/slim/guard.h>
#include <torch2cpp/slim/random.h>
#include <torch2cpp/slim/shim_args.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {
using namespace torch2cpp::slim;

struct Arg {
  int64_t kind, count, integer;
  double real;
  const void* data;

  AtenTensorHandle handle(int64_t i) const { return static_cast<const AtenTensorHandle*>(data)[i]; }
};

template <class T>
T get(const Arg& a);
template <>
Number get(const Arg& a) {
  return a.integer == 1 ? Number(a.real != 0) : a.integer == 2 ? Number(a.count) : Number(a.real);
}
template <>
Tensor get(const Arg& a) {
  return a.kind == 4 ? number(get<Number>(a)) : borrowed(a.handle(0));
}
template <>
Tensors get(const Arg& a) {
  return borrowed_all(static_cast<const AtenTensorHandle*>(a.data), a.count);
}
template <>
OptionalTensors get(const Arg& a) {
  OptionalTensors out;
  for (int64_t i = 0; i < a.count; ++i) {
    out.push_back(a.handle(i) == nullptr ? OptionalTensor() : OptionalTensor(borrowed(a.handle(i))));
  }
  return out;
}
template <>
int64_t get(const Arg& a) {
  return a.count;
}
template <>
bool get(const Arg& a) {
  return a.real != 0;
}
template <>
double get(const Arg& a) {
  return a.real;
}
template <>
Ints get(const Arg& a) {
  return ints(static_cast<const int64_t*>(a.data), a.count);
}
template <>
Doubles get(const Arg& a) {
  const auto* items = static_cast<const double*>(a.data);
  return Doubles(items, items + a.count);
}
template <>
ScalarType get(const Arg& a) {
  return static_cast<ScalarType>(a.count);
}
template <>
std::string_view get(const Arg& a) {
  return {static_cast<const char*>(a.data), static_cast<std::size_t>(a.count)};
}
template <class T>
std::optional<T> maybe(const Arg& a) {
  return a.kind == 0 ? std::nullopt : std::optional<T>(get<T>(a));
}

struct Results {
  int64_t count = 0;
  AtenTensorHandle items[64];

  void add(const Tensor& t) {
    if (t.defined()) {
      give(t, &items[count++]);
    }
  }
  void add(const Tensors& all) {
    for (const Tensor& t : all) {
      add(t);
    }
  }
  void add(bool flag) { add(op::scalar_tensor(flag, ScalarType::Bool)); }
  template <class... T>
  void add(const std::tuple<T...>& all) {
    std::apply([&](const T&... each) { (add(each), ...); }, all);
  }
};
}  // namespace
"""


def driver_text(names: Sequence[str]) -> str:
    """The C++ of the library: one function an operator."""
    functions = []
    for name in names:
        args = ", ".join(f"{_reader(t)}(a[{i}])" for i, (t, _) in enumerate(operators()[name].params))
        body = f"return guarded([&] {{ r->add(op::{name}({args})); }});"
        functions.append(f"EXPORTED int call_{name}(const Arg* a, Results* r) {{ {body} }}")
    seed = "EXPORTED void seed_slim(uint64_t seed) { manual_seed(seed); }"
    return _HEAD + "\n".join([*functions, seed]) + "\n"


def _reader(type_: str) -> str:
    """The function that reads an argument.

    >>> _reader("std::optional<double>"), _reader("OptionalTensor"), _reader("Ints")
    ('maybe<double>', 'maybe<Tensor>', 'get<Ints>')
    """
    if type_ == "OptionalTensor":
        return "maybe<Tensor>"
    optional = type_.startswith("std::optional<")
    return f"maybe<{type_.removeprefix('std::optional<').removesuffix('>')}>" if optional else f"get<{type_}>"


def build_driver(folder: Path, flags: Sequence[str] = ("-O1",)) -> Path:
    """Compiles slim, what it needs of the support library, and the driver as one unit; gives the library's path."""
    from torch2cpp.backends.slim.files import include_root, slim_folder

    root = shipped("runtime_cpp")
    slim = slim_folder()
    sources = [slim / "slim.cpp", slim / "src/gemm_float.cpp", *(root / "src" / f"{n}.cpp" for n in _SUPPORT)]
    text = "".join(f'#include "{p}"\n' for p in sources) + driver_text([*operators()])
    unit = folder / "driver.cpp"
    unit.write_text(text)
    includes = [f"-I{root / 'include'}", f"-I{slim / 'include'}", "-isystem", str(include_root())]
    library = folder / "libdriver.so"
    # Python's torch has functions of the same names: the library keeps to its own.
    options = ["-std=c++20", *flags, "-fvisibility=hidden", "-fPIC", "-fopenmp", "-shared", "-Wl,-Bsymbolic"]
    subprocess.run([compiler(), *options, *includes, str(unit), "-o", str(library)], check=True)
    return library


#: Sources of the support library that slim's operators call.
_SUPPORT = (
    "arithmetic",
    "dtypes",
    "errors",
    "shim",
    "slice",
    "tensor",
    "tensor_ops",
    "tensor_views",
)  # fmt: skip


class _Arg(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("data", ctypes.c_void_p),
    )


class _Results(ctypes.Structure):
    _fields_ = (("count", ctypes.c_int64), ("items", ctypes.c_void_p * _MOST_RESULTS))


def _number(value: Any, kind: int) -> _Arg:
    """A Python number; `integer` tells its type."""
    if isinstance(value, bool):
        return _Arg(kind, 0, 1, float(value), None)
    if isinstance(value, int):
        return _Arg(kind, value, 2, 0.0, None)
    return _Arg(kind, 0, 3, float(value), None)


class SlimError(Exception):
    """What an operator raised."""


class Driver:
    """The library; tensors go in without copies, results come out as copies."""

    def __init__(self, path: Path) -> None:
        self.lib = ctypes.CDLL(str(path))
        self.lib.torch_exception_get_what.restype = ctypes.c_char_p

    def call(self, overload: Any, *args: Any, **kwargs: Any) -> list[torch.Tensor]:
        """An operator by its PyTorch overload, with that one's arguments. Raises SlimError."""
        schema = overload._schema
        operator = operators()[function_name(schema.name.removeprefix("aten::"), schema.overload_name)]
        given = {a.name: kwargs.get(a.name, a.default_value) for a in schema.arguments}
        given |= dict(zip((a.name for a in schema.arguments), args))
        keep: list[Any] = []
        packed = (_Arg * max(len(operator.params), 1))(*(self._arg(given[n], t, keep) for t, n in operator.params))
        results = _Results()
        if getattr(self.lib, f"call_{operator.name}")(packed, ctypes.byref(results)) != 0:
            raise SlimError(self.lib.torch_exception_get_what().decode())
        return [self.take(ctypes.c_void_p(results.items[i])) for i in range(results.count)]

    def seed(self, seed: int) -> None:
        """As torch.manual_seed."""
        self.lib.seed_slim(ctypes.c_uint64(seed))

    def _arg(self, value: Any, type_: str, keep: list[Any]) -> _Arg:
        if value is None:
            return _Arg(0, 0, 0, 0.0, None)
        plain = type_.removeprefix("std::optional<").removesuffix(">") if type_.startswith("std::optional") else type_
        match plain:
            case "Tensor" | "OptionalTensor" if not isinstance(value, torch.Tensor):
                return _number(value, 4)
            case "Tensor" | "OptionalTensor":
                return self._handles([value], keep)
            case "Tensors" | "OptionalTensors":
                return self._handles(value, keep)
            case "Number":
                return _number(value, 1)
            case "Ints":
                items = value if isinstance(value, list | tuple) else [value]
                array = (ctypes.c_int64 * max(len(items), 1))(*items)
                keep.append(array)
                return _Arg(1, len(items), 0, 0.0, ctypes.cast(array, ctypes.c_void_p).value)
            case "Doubles":
                reals = (ctypes.c_double * max(len(value), 1))(*value)
                keep.append(reals)
                return _Arg(1, len(value), 0, 0.0, ctypes.cast(reals, ctypes.c_void_p).value)
            case "ScalarType":
                return _Arg(1, NUMBERS[value] if isinstance(value, torch.dtype) else int(value), 0, 0.0, None)
            case "std::string_view":
                text = ctypes.create_string_buffer(value.encode())
                keep.append(text)
                return _Arg(1, len(value), 0, 0.0, ctypes.cast(text, ctypes.c_void_p).value)
            case "int64_t":
                return _Arg(1, int(value), 0, 0.0, None)
        return _Arg(1, 0, 0, float(value), None)

    def _handles(self, tensors: Sequence[Any], keep: list[Any]) -> _Arg:
        array = (ctypes.c_void_p * max(len(tensors), 1))(*(None if t is None else self.give(t).value for t in tensors))
        keep.append(array)
        return _Arg(1, len(tensors), 0, 0.0, ctypes.cast(array, ctypes.c_void_p).value)

    def check(self, status: int) -> None:
        """Raises SlimError for a failure's code."""
        if status != 0:
            raise SlimError(self.lib.torch_exception_get_what().decode())

    def give(self, t: torch.Tensor) -> ctypes.c_void_p:
        """A handle on the tensor's memory, which must live on."""
        out = ctypes.c_void_p()
        extents = ctypes.c_int64 * max(t.dim(), 1)
        place = (ctypes.c_void_p(t.data_ptr()), ctypes.c_int64(t.dim()), extents(*t.shape), extents(*t.stride()))
        make = self.lib.aoti_torch_create_tensor_from_blob
        self.check(make(*place, ctypes.c_int64(0), NUMBERS[t.dtype], 0, -1, ctypes.byref(out)))
        return out

    def take(self, handle: ctypes.c_void_p) -> torch.Tensor:
        """A copy of the tensor, with its strides; the handle goes."""
        dtype, rank = ctypes.c_int32(), ctypes.c_int64()
        sizes, strides = ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_int64)()
        data = ctypes.c_void_p()
        self.check(self.lib.aoti_torch_get_dtype(handle, ctypes.byref(dtype)))
        self.check(self.lib.aoti_torch_get_dim(handle, ctypes.byref(rank)))
        self.check(self.lib.aoti_torch_get_sizes(handle, ctypes.byref(sizes)))
        self.check(self.lib.aoti_torch_get_strides(handle, ctypes.byref(strides)))
        self.check(self.lib.aoti_torch_get_data_ptr(handle, ctypes.byref(data)))
        shape, steps = sizes[: rank.value], strides[: rank.value]
        out = torch.empty_strided(shape, steps, dtype=_OF_NUMBER[dtype.value])
        if out.numel():
            extent = 1 + sum((n - 1) * s for n, s in zip(shape, steps))
            ctypes.memmove(out.data_ptr(), data, extent * out.element_size())
        self.check(self.lib.aoti_torch_delete_tensor_object(handle))
        return out
