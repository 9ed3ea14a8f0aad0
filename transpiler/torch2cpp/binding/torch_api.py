"""Functions of torch that are not one ATen operator of the same name."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from torch2cpp.binding import numpy_arrays, operators, random_numbers, tensor_methods
from torch2cpp.binding.aten import NoOverload, call_aten, elements, has_op, scalar_item
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.make_tensor import tensor_from_data
from torch2cpp.binding.module_walks import module_walks
from torch2cpp.binding.values import NONE, AbsVal, Array, Rt, Static, Tensor, Tup

Handler = Callable[[Context, list[AbsVal], dict[str, AbsVal]], AbsVal]

#: Keyword arguments of factories that mean nothing here.
_IGNORED = ("requires_grad", "pin_memory", "out")


def torch_handler(value: Any) -> Handler | None:
    """What calling a function of torch means; None if it is to be interpreted or is not torch's."""
    try:
        handler = _TABLE.get(random_numbers.unwrapped(value))
    except TypeError:
        return None
    if handler is not None:
        return handler
    if isinstance(value, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
        name = value._schema.name if isinstance(value, torch._ops.OpOverload) else value._qualified_op_name
        if name.startswith("aten::"):
            return _aten(name.removeprefix("aten::"))
        return None
    if isinstance(value, types.BuiltinFunctionType | types.MethodDescriptorType | types.BuiltinMethodType):
        builtin = _builtin_name(value)
        if builtin is not None and has_op(builtin):
            return _aten(builtin)
    return None


def _builtin_name(value: Any) -> str | None:
    owner = getattr(value, "__self__", None)
    module = getattr(value, "__module__", "") or ""
    from_torch = (
        module.startswith("torch")
        or (isinstance(owner, type | types.ModuleType) and "torch" in getattr(owner, "__module__", "") + owner.__name__)
        or getattr(value, "__objclass__", None) in (torch.Tensor, torch._C.TensorBase)
    )
    name = getattr(value, "__name__", "")
    return name if from_torch and name else None


def _aten(name: str) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        kept = {k: v for k, v in kwargs.items() if k not in _IGNORED}
        out = kwargs.get("out")
        if out is not None and not (isinstance(out, Static) and out.value is None):
            cx.refuse("T2C199", f"torch.{name}(out=...)", "assign the result, or use copy_")
        try:
            return call_aten(cx, name, args, kept)
        except NoOverload as error:
            cx.refuse("T2C151", f"no overload fits {error}", "check the arguments' types")

    return run


def _method(f: tensor_methods.Method) -> Handler:
    """A function whose first argument is the tensor."""

    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        first = args[0] if args else kwargs.get("input", kwargs.get("tensor"))
        t = operators.tensor_of(cx, resolve(cx, first))
        if t is None:
            cx.refuse("T2C199", f"a tensor operation on {describe(cx, first)}", "pass a tensor")
        rest = {k: v for k, v in kwargs.items() if k not in ("input", "tensor")}
        return f(cx, t, args[1:], rest)

    return run


def _static(value: Any) -> Handler:
    return lambda cx, a, k: Static(value)


def _dtype_arg(kwargs: dict[str, AbsVal], args: list[AbsVal]) -> torch.dtype | None:
    for v in (*args[1:2], kwargs.get("dtype")):
        if isinstance(v, Static) and isinstance(v.value, torch.dtype):
            return v.value
    return None


def _tensor(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    data = numpy_arrays.at_run_time(cx, args[0] if args else kwargs["data"])
    if isinstance(data, Array):
        data = call_aten(cx, "clone", [data.tensor])
    made = tensor_from_data(cx, data, _dtype_arg(kwargs, args))
    if made is None:
        cx.refuse("T2C199", f"torch.tensor({describe(cx, data)})", "give it numbers or nested lists of numbers")
    return made


def _from_numpy(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    array = numpy_arrays.at_run_time(cx, args[0])
    if isinstance(array, Array) and array.tensor.rank > 0:
        return array.tensor
    cx.refuse("T2C199", f"torch.from_numpy({describe(cx, args[0])})", "give it an array of the deployed code")


def _as_tensor(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    data = numpy_arrays.at_run_time(cx, args[0] if args else kwargs["data"])
    data = data.tensor if isinstance(data, Array) else data
    t = operators.tensor_of(cx, resolve(cx, data))
    if t is not None:
        dtype = _dtype_arg(kwargs, args)
        return t if dtype in (None, t.meta.dtype) else call_aten(cx, "to", [t, Static(dtype)])
    return _tensor(cx, args, kwargs)


def _where(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if len(args) + len(kwargs) == 1:
        t = operators.tensor_of(cx, resolve(cx, args[0] if args else kwargs["condition"]))
        assert t is not None
        return tensor_methods.nonzero(cx, t, [], {"as_tuple": Static(True)})
    names = ("condition", "input", "other")
    given = [*args, *(kwargs[n] for n in names[len(args) :])]
    fixed = [operators.tensor_of(cx, resolve(cx, g)) or g for g in given]
    return call_aten(cx, "where", fixed)


def _einsum(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    equation = args[0]
    if operators.tensor_of(cx, resolve(cx, equation)) is not None:
        equation, args = _from_sublists(cx, args)
    if not (isinstance(equation, Static) and isinstance(equation.value, str)):
        cx.refuse("T2C199", "einsum without a constant equation", "write the equation as a string")
    operands = args[1:]
    if len(operands) == 1 and elements(cx, operands[0]) is not None:
        operands = elements(cx, operands[0]) or []
    return call_aten(cx, "einsum", [equation, Tup(tuple(operands))])


def _from_sublists(cx: Context, args: list[AbsVal]) -> tuple[AbsVal, list[AbsVal]]:
    """`einsum(x, [0, 1], y, [1, 2], [0, 2])` as an equation and its operands."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def spelled(v: AbsVal) -> str:
        parts = elements(cx, v) or []
        if not parts or not all(isinstance(p, Static) for p in parts):
            cx.refuse("T2C199", "einsum with subscripts of run time", "write the equation as a string")
        return "".join("..." if p.value is Ellipsis else letters[p.value] for p in parts)

    operands, subscripts = args[: len(args) // 2 * 2 : 2], args[1::2]
    equation = ",".join(map(spelled, subscripts))
    if len(args) % 2:
        equation += "->" + spelled(args[-1])
    return Static(equation), [Static(equation), *operands]


def _meshgrid(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Views expanded over the grid, as ATen makes them."""
    tensors = elements(cx, args[0]) if len(args) == 1 and elements(cx, args[0]) is not None else args
    assert tensors is not None
    ts = [operators.tensor_of(cx, resolve(cx, t)) for t in tensors]
    indexing = kwargs.get("indexing", Static("ij"))
    swap = isinstance(indexing, Static) and indexing.value == "xy" and len(ts) >= 2
    order = [1, 0, *range(2, len(ts))] if swap else list(range(len(ts)))
    given = [ts[i] for i in order]
    sizes = [tensor_methods.numel(cx, t, [], {}) for t in given if t is not None]
    out: list[AbsVal] = []
    for i, t in enumerate(given):
        assert t is not None
        shape = [Static(1)] * len(given)
        viewed = call_aten(cx, "view", [t, Tup((*shape[:i], Static(-1), *shape[i + 1 :]))])
        out.append(call_aten(cx, "expand", [viewed, Tup(tuple(sizes))]))
    return Tup(tuple(out[order.index(i)] for i in range(len(out))))


def unique(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`torch.unique`: a tensor, or a tuple with inverse indices and counts."""
    names = ["input", "sorted", "return_inverse", "return_counts", "dim"]
    given = dict(zip(names, args)) | kwargs
    flags = {n: bool(given[n].value) if n in given else n == "sorted" for n in names[1:4]}
    dim = given.get("dim", NONE)
    x = given["input"]
    static = [Static(flags[n]) for n in names[1:4]]
    if isinstance(dim, Static) and dim.value is not None:
        out = call_aten(cx, "unique_dim", [x, dim, *static])
    else:
        out = call_aten(cx, "_unique2", [x, *static])
    assert isinstance(out, Tup)
    kept = [out.elems[0]]
    if flags["return_inverse"]:
        kept.append(out.elems[1])
    if flags["return_counts"]:
        kept.append(out.elems[2])
    return kept[0] if len(kept) == 1 else Tup(tuple(kept))


def _identity(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return args[0]


def _annotate(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return args[1]


def _is_tensor(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import is_instance

    return is_instance(cx, args[0], torch.Tensor)


def _assert(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.strings import to_str

    cond = operators.truth(cx, args[0])
    message = to_str(cx, args[1]) if len(args) > 1 else Static("")

    def fail() -> AbsVal:
        cx.raise_(AssertionError, message.value if isinstance(message, Static) else message.operand)

    if isinstance(cond, Static):
        return NONE if cond.value else fail()
    return branch(cx, cond.operand, lambda: NONE, fail, "assert", cx.span)


def _pad_sequence(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`torch.nn.utils.rnn.pad_sequence`, whose argument may be a run-time list."""
    names = ["sequences", "batch_first", "padding_value", "padding_side"]
    given = dict(zip(names, args)) | kwargs
    rest = [given.get("batch_first", Static(False)), given.get("padding_value", Static(0.0)),
            given.get("padding_side", Static("right"))]  # fmt: skip
    return call_aten(cx, "pad_sequence", [given["sequences"], *rest])


def _broadcast_tensors(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    shape_like = args[0]
    for t in args[1:]:
        shape_like = operators.binary(
            cx, "+", call_aten(cx, "zeros_like", [shape_like]), call_aten(cx, "zeros_like", [t])
        )
    return Tup(tuple(call_aten(cx, "expand_as", [t, shape_like]) for t in args))


def _multi_argument(name: str) -> Handler:
    """torch.cat and stack: a tuple, list or generator of tensors."""

    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        given = dict(zip(["tensors", "dim"], args)) | {("dim" if k == "axis" else k): v for k, v in kwargs.items()}
        tensors = given["tensors"]
        o = resolve(cx, tensors)
        if not isinstance(o, Rt) and elements(cx, tensors) is None:
            from torch2cpp.binding.comprehensions import collect

            tensors = collect(cx, tensors)
        if elements(cx, tensors) == []:
            if name == "cat":
                cx.raise_(RuntimeError, "torch.cat(): expected a non-empty list of Tensors")
            cx.raise_(RuntimeError, "stack expects a non-empty TensorList")
        dim = [given.get("dim", Static(0))] if name in ("cat", "stack") else []
        return _aten(name)(cx, [tensors, *dim], {})

    return run


def _boolean_dispatch(name: str) -> Handler:
    """F.max_poolNd and its like: Python chooses by `return_indices`."""

    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.calls import call_python

        flag = kwargs.pop("return_indices", None)
        position = 3 if name.startswith("adaptive") else 7
        if flag is None and len(args) > position - 1:
            flag = args[position - 1] if name.startswith("adaptive") is False else None
        with_indices = getattr(F, f"{name}_with_indices")
        if isinstance(flag, Static) and flag.value:
            return call_python(cx, with_indices, args[:6], {**kwargs, "return_indices": Static(True)})
        return call_python(cx, getattr(F, f"_{name}"), args[:6], kwargs)

    return run


def _result_type(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """The dtype that arithmetic would give: known from dtypes and ranks alone."""
    from torch2cpp.binding.values import Host

    def like(v: AbsVal) -> Any:
        t = operators.tensor_of(cx, resolve(cx, v))
        if t is not None:
            return torch.empty((1,) * t.rank, dtype=t.meta.dtype)
        if isinstance(v, Host):
            return {"int": 1, "float": 1.0, "bool": True, "complex": 1j}[v.type.kind]
        return v.value

    return Static(torch.result_type(*map(like, args)))


def _one_hot(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    given = dict(zip(["tensor", "num_classes"], args)) | kwargs
    classes = given.get("num_classes", Static(-1))
    if isinstance(classes, Static) and classes.value == -1:
        t = operators.tensor_of(cx, resolve(cx, given["tensor"]))
        if t is None:
            cx.refuse("T2C199", f"one_hot of {describe(cx, given['tensor'])}", "pass a tensor")
        classes = operators.binary(cx, "+", scalar_item(cx, _largest(cx, t)), Static(1))
    return _aten("one_hot")(cx, [given["tensor"], classes], {})


def _largest(cx: Context, t: Tensor) -> Tensor:
    """The largest class; without any, eager's own error."""
    from torch2cpp.binding.control import branch

    def none() -> AbsVal:
        cx.raise_(RuntimeError, "Can not infer total number of classes from empty tensor.")

    empty = operators.compare(cx, "==", tensor_methods.numel(cx, t, [], {}), Static(0))
    if not isinstance(empty, Static):
        branch(cx, empty.operand, none, lambda: NONE, "one_hot", cx.span)
    elif empty.value:
        none()
    out = call_aten(cx, "max", [t])
    assert isinstance(out, Tensor)
    return out


def _table() -> dict[Any, Handler]:
    table: dict[Any, Handler] = {
        torch.tensor: _tensor,
        torch.as_tensor: _as_tensor,
        torch.from_numpy: _from_numpy,
        torch.asarray: _as_tensor,
        torch.where: _where,
        torch.einsum: _einsum,
        torch.functional.einsum: _einsum,
        torch.meshgrid: _meshgrid,
        torch.functional.meshgrid: _meshgrid,
        torch.unique: unique,
        torch.split: _method(tensor_methods.split),
        torch.functional.split: _method(tensor_methods.split),
        torch.chunk: _method(tensor_methods.chunk),
        torch.tensor_split: _method(tensor_methods.tensor_split),
        torch.unbind: _method(tensor_methods.unbind),
        torch.nonzero: _method(tensor_methods.nonzero),
        torch.equal: _method(tensor_methods.equal),
        torch.allclose: _method(tensor_methods.allclose),
        torch.numel: _method(tensor_methods.numel),
        torch.is_tensor: _is_tensor,
        torch.is_nonzero: lambda cx, args, kwargs: operators.truth(cx, args[0]),
        torch.result_type: _result_type,
        F.one_hot: _one_hot,
        torch._C._nn.one_hot: _one_hot,
        torch.is_floating_point: _method(tensor_methods._bool_method("is_floating_point")),
        torch.is_complex: _method(tensor_methods._bool_method("is_complex")),
        torch.cat: _multi_argument("cat"),
        torch.concat: _multi_argument("cat"),
        torch.concatenate: _multi_argument("cat"),
        torch.stack: _multi_argument("stack"),
        torch.hstack: _multi_argument("hstack"),
        torch.vstack: _multi_argument("vstack"),
        torch.broadcast_tensors: _broadcast_tensors,
        torch.functional.broadcast_tensors: _broadcast_tensors,
        torch._assert: _assert,
        torch.autograd.Variable: _identity,
        torch.jit.annotate: _annotate,
        torch.compile: _identity,
        torch.jit.is_scripting: _static(False),  # type: ignore[attr-defined]
        torch.jit.is_tracing: _static(False),  # type: ignore[attr-defined]
        torch._C._get_tracing_state: _static(None),
        torch.compiler.is_compiling: _static(False),
        torch.compiler.is_exporting: _static(False),
        torch.compiler.is_dynamo_compiling: _static(False),
        torch.is_grad_enabled: _static(False),
        torch.is_autocast_enabled: _static(False),
        torch.is_inference_mode_enabled: _static(False),
        torch.get_default_dtype: _static(torch.float32),
        torch.nn.utils.rnn.pad_sequence: _pad_sequence,
        torch.cuda.is_available: _static(False),
    }
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        table[getattr(torch.overrides, name)] = table[getattr(F, name)] = _static(False)
    for name in ("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
                 "adaptive_max_pool3d"):  # fmt: skip
        table[getattr(F, name)] = _boolean_dispatch(name)
    return table | module_walks() | random_numbers.handlers()


_TABLE = _table()
