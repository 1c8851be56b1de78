"""mindtorch/_core/_gen: the kernel slots, and per family the device-neutral functions with their Python functions."""
from dataclasses import replace

from . import emit_autocast, emit_grad, emit_lists, emit_python
from .emit_grad import NOTE
from .rows import RowError, inplace_name
from .rules import RULE_CIMPORTS, RuleError, Scope, cimport_module

SCALAR_IMPORT = ("from mindtorch._core.scalar cimport (\n"
                 "    BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat, Double, Float, Half, Int, Long, Scalar,"
                 " ScalarType, Short,\n    Undefined)\n")


def kernel_parameters(row) -> str:
    """The slot's parameters: arguments, then outputs; for in-place kernels `self` is written."""
    if row.of_lists:
        return emit_lists.kernel_parameters(row)
    parameters = [f"{a.c_type}{a.name}" for a in row.kernel_arguments]
    return ", ".join(parameters + [f"TensorBase {name}" for name in row.result_names])


def function_parameters(row) -> str:
    parameters = [f"{a.c_type}{a.name}" for a in row.kernel_arguments]
    return ", ".join(parameters + [f"TensorBase {name}" for name in row.result_names])


def result_type(row) -> str:
    return "tuple" if len(row.schema.returns) > 1 else "TensorBase"


def kernels_pxd(table) -> str:
    slots = "\n".join(f"    int (*{row.slot})({kernel_parameters(row)}) except -1"
                      for row in table.rows if row.has_slot)
    slots += "".join(f"\n    unsigned int {emit_lists.dtypes_name(row)}"
                     for row in table.rows if row.has_slot and row.each)
    return (NOTE.format(source="*.toml") +
            '"""One slot an op and device: a pure kernel, which writes into outputs that are allocated already."""\n'
            "from libc.stdint cimport int64_t\n\n"
            "from mindtorch._core.device cimport DEVICE_TYPES\n"
            "from mindtorch._core.generator cimport Generator\n"
            "from mindtorch._core.scalar cimport Scalar, ScalarType\n"
            "from mindtorch._core.tensor cimport Shape, TensorBase\n\n\n"
            f"ctypedef struct Kernels:\n{slots}\n\n"
            "cdef Kernels KERNELS[DEVICE_TYPES]     # NULL: no kernel on that device\n")


def kernels_pyx() -> str:
    return NOTE.format(source="*.toml")


def family_pxd(table, family) -> str:
    lines = [NOTE.format(source=f"{family}.toml"), "from libc.stdint cimport int64_t\n\n",
             "from mindtorch._core.generator cimport Generator\n",
             "from mindtorch._core.scalar cimport Scalar, ScalarType\n",
             "from mindtorch._core.tensor cimport Shape, TensorBase\n\n\n"]
    for row in _list_rows(table, family):
        lines += [text.split(":\n")[0] + "\n" for text in emit_lists.functions(row, table)]
    for row in _neutral_rows(table, family):
        lines.append(f"cdef {result_type(row)} op_{row.slot}({function_parameters(row)})\n")
        if row.inplace:
            lines.append(f"cdef TensorBase op_{inplace_name(row)}({inplace_parameters(row)})\n")
    return "".join(lines)


def family_pyx(table, family) -> str:
    functions = []
    of_lists = _list_rows(table, family)
    try:
        functions += emit_lists.settled(table, of_lists)
        functions += [text for row in of_lists for text in emit_lists.functions(row, table)]
    except RuleError as error:
        raise RowError(f"{family}.toml: {error}") from None
    for row in _neutral_rows(table, family):
        try:
            functions += [_function(row)] + ([_inplace(row)] if row.inplace else [])
        except RuleError as error:
            raise RowError(f"{family}.toml: {row.key}: {error}") from None
    python, needs = emit_python.family_functions(table, family)
    return (NOTE.format(source=f"{family}.toml") + "from libc.stdint cimport int64_t\n\n"
            "from mindtorch import return_types\n"
            f"{RULE_CIMPORTS}"
            f"{_autocast_import(table, family)}"
            "from mindtorch._core._gen.kernels cimport KERNELS\n"
            f"{_record_imports(table, family)}{needs}{emit_lists.imports(table, of_lists)}"
            "from mindtorch._core.autograd cimport (\n"
            "    operands_require_grad, requires_grad, tracked, tracked_list, tracked_optional)\n"
            "from mindtorch._core.recording cimport before_write, recording, recording_inplace\n"
            "from mindtorch._core.arguments cimport (\n"
            "    as_int, given, is_int, is_scalar_list, no_combination, optional_float, optional_tensor, parse_bools,\n"
            "    parse_optional_int, parse_optional_ints, parse_varargs, require_bool, require_dtype, require_float,\n"
            "    require_int, require_scalar, require_scalars, require_tensor, require_tensors, sizes_argument)\n"
            "from mindtorch._core.device cimport CPU\n"
            "from mindtorch._core.dispatch cimport (\n"
            "    NO_DIMS, ONE, Place, as_operand, distinct, finish, join, no_kernel, number_beside, number_like,\n"
            "    named, number_to_read, optional_scalar, place_of, place_of_list, several_outs)\n"
            "from mindtorch._core.generator cimport Generator, generator_for, require_generator\n" + SCALAR_IMPORT +
            "from mindtorch._core.scalar cimport is_scalar, scalar_from\n"
            "from mindtorch._core.tensor cimport Shape, TensorBase, count_version\n\n\n" +
            "\n\n".join(functions + python))


def _record_imports(table, family) -> str:
    names = [f"record_{row.slot}" for row in _neutral_rows(table, family) if emit_grad.recorded(row)]
    lines = "".join(f"    {name},\n" for name in names)
    return f"from mindtorch._core._gen.{family}_grad cimport (\n{lines})\n" if names else ""


def _autocast_import(table, family) -> str:
    listed = any(row.autocast for row in _neutral_rows(table, family))
    return cimport_module("autocast") if listed else ""


def inplace_parameters(row) -> str:
    return ", ".join(f"{a.c_type}{a.name}" for a in row.kernel_arguments)


def _neutral_rows(table, family) -> list:
    return [row for row in table.family(family) if row.has_kernel and not row.factory and not row.of_lists]


def _list_rows(table, family) -> list:
    return [row for row in table.family(family) if row.of_lists and not row.same]


def _scope(row) -> Scope:
    scope = Scope(row)
    scope.types |= {f"result_dtype{index or ''}": "ScalarType" for index in range(len(row.outputs))}
    return scope


def compute_dtype(row, scope, target) -> str:
    """The dtype, in C, that a kernel's operands and numbers are brought to; `target` is its first output."""
    rule = row.compute or (row.outputs[0].dtype if row.outputs and not row.factory else "")
    return scope.dtype(rule) if rule else f"{target}.dtype"


def _place(row) -> list:
    """Lines that find the device of the result."""
    tensors = [a for a in row.kernel_arguments if a.is_tensor]
    lists = [a for a in row.kernel_arguments if a.type == "Tensor[]"]
    if lists:
        return ["cdef Place place", f"place_of_list(&place, {lists[0].name})"]
    first, *rest = sorted(tensors, key=lambda a: a.optional)        # one that cannot be None says where
    return ["cdef Place place", f"place_of(&place, {first.name})",
            *(f"join(&place, {a.name})" for a in rest)]


def _opening(row, scope) -> list:
    """Device, kernel, result dtypes, checks."""
    lists = [a for a in row.kernel_arguments if a.type == "Tensor[]"]
    tensors = [a.name for a in sorted(row.kernel_arguments, key=lambda a: a.optional) if a.is_tensor]
    dtype = f"(<TensorBase>{lists[0].name}[0]).dtype" if lists else f"{tensors[0]}.dtype"
    lines = [*_place(row), f"if KERNELS[place.type].{row.slot} == NULL:",
             f'    no_kernel("{row.key}", place.type, {dtype})']
    for index, out in enumerate(row.outputs):
        name = "result_dtype" if index == 0 else f"result_dtype{index}"
        lines.append(f"cdef ScalarType {name} = {scope.dtype(out.dtype)}")
    lines += [f"{a.name} = generator_for({a.name}, place.type, place.index)"
              for a in row.kernel_arguments if a.type == "Generator?"]
    if row.cpu_check:
        lines += ["if place.type == CPU:", *(f"    {scope.check(text)}" for text in row.cpu_check)]
    lines += [scope.check(text) for text in row.check]
    wrapped = [a for a in row.kernel_arguments if a.name == "dim" and a.type == "int"]
    if wrapped and tensors:
        lines.append(f"dim = infer.wrap_dim(dim, {tensors[0]}.ndim)")
    return lines


def _kernel_call(row, results, dtype_argument) -> str:
    names = [dtype_argument if a.type == "ScalarType?" else a.name for a in row.kernel_arguments]
    return f"KERNELS[place.type].{row.slot}({', '.join(names + results)})"


def _recording(row, inplace) -> list:
    """Lines that find out whether the call is to be recorded, before anything is written."""
    if not emit_grad.recorded(row):
        return []
    tests = {"Tensor": "tracked({})", "Tensor?": "tracked_optional({})"}
    wants = {"Tensor": "requires_grad({})", "Tensor?": "requires_grad({})"}
    arguments = emit_grad.differentiable(row)
    tests = " or ".join(tests.get(a.type, "tracked_list({})").format(a.name) for a in arguments)
    wants = " or ".join(wants.get(a.type, "operands_require_grad({})").format(a.name) for a in arguments)
    if not inplace:
        out = row.result_names[0]
        tests, wants = f"{tests} or tracked_optional({out})", f"{wants} or requires_grad({out})"
    if inplace:
        record = f"recording_inplace(self, {wants})"
    else:
        record = f"({wants}) and recording({row.result_names[0]}, \"{row.schema.name}\")"
    lines = ["cdef bint record = False", f"if {tests}:", f"    record = {record}"]
    return [*lines, "cdef TensorBase kept_self = self"] if inplace else lines


def _record(row, results, inplace) -> list:
    """Lines that make the node."""
    if not emit_grad.recorded(row):
        return []
    values = ["result_dtype" if a.type == "ScalarType?" and row.outputs else a.name for a in row.kernel_arguments]
    if emit_grad.can_be_inplace(row):
        results = [*results, "kept_self" if inplace else "self", str(inplace)]
    return ["if record:", f"    record_{row.slot}({', '.join(values + results)})"]


def _keep_self(row) -> list:
    return ["    if record:", "        kept_self = before_write(self)"] if (
        emit_grad.recorded(row) and emit_grad.keeps_self(row)) else []


def _begin(row) -> list:
    """The line that gives the output the elements which the kernel writes over."""
    return [f"    dispatch.begin(result, {row.onto})"] if row.onto else []


def _function(row) -> str:
    if row.schema.inplace:
        return _written_self(row)
    scope = _scope(row)
    names = row.result_names
    lines = [*emit_autocast.prologue(row), *_opening(row, scope), *_recording(row, False)]
    if row.out_check:
        lines += [f"if {names[0]} is not None:", *(f"    {scope.check(text)}" for text in row.out_check)]
    lines.append("cdef Shape shape")
    results = [name.replace("out", "result") for name in names]
    for index, (out, name, result) in enumerate(zip(row.outputs, names, results, strict=True)):
        dtype = "result_dtype" if index == 0 else f"result_dtype{index}"
        if index == 0 or out.shape != row.outputs[index - 1].shape:
            lines.append(scope.shape(out.shape))
        operands = scope.operands(out.shape)
        shared = [name, "&shape", dtype, "place.type", "place.index", *(operands and (operands + ["None"] * 2)[:3])]
        make = "elementwise_output" if operands else "output"
        if out.memory_format:
            make = "output_in_format"
            shared += [*out.memory_format, "None"][:2]
        made = f"infer.{make}({', '.join(shared)})"
        if out.mask:
            made = f"{made} if {_masked(out)} else None"
        lines.append(f"cdef TensorBase {result} = {made}")
        if not operands:
            lines += _kept_apart(row, result, f"if {name} is not None:", "")
    lines += [f"if {_anything(row, results)}:", *_begin(row), f"    {_kernel_call(row, results, 'result_dtype')}"]
    lines += [f"{result} = infer.fitted({result}, {name})"
              for result, name, out in zip(results, names, row.outputs, strict=True) if out.reported]
    lines += _record(row, results, False)
    finished = [f"finish({r}, {n})" for r, n in zip(results, names, strict=True)]
    lines.append(f"return {', '.join(finished)}")
    return _text(f"cdef {result_type(row)} op_{row.slot}({function_parameters(row)})", lines)


def _masked(out) -> str:
    """"output_mask[1]" in C."""
    return out.mask.replace("[", ".sizes[")


def _anything(row, results) -> str:
    """Whether there is a result to compute; masked ones may be None, or differ in size."""
    tests = [f"({name} is not None and {name}.numel)" if out.mask else f"{name}.numel"
             for name, out in zip(results, row.outputs, strict=True)]
    return " or ".join(tests)


def _kept_apart(row, result, condition, written) -> list:
    """Lines that replace a result by a temporary where it shares memory with an operand other than `written`."""
    lines = [f"{result} = infer.apart({result}, {a.name})"
             for a in row.kernel_arguments if a.is_tensor and a.name != written]
    lists = [a.name for a in row.kernel_arguments if a.type == "Tensor[]"]
    lines += [line for name in lists
              for line in (f"for operand in {name}:", f"    {result} = infer.apart({result}, <TensorBase>operand)")]
    return [condition, *(f"    {line}" for line in lines)] if condition and lines else lines


def _self_for_out(row):
    """The row for its in-place form: a dtype rule that looks at `out` ends there, and sees self."""
    before, found, _ = row.outputs[0].dtype.partition(" or out ")
    return replace(row, outputs=(replace(row.outputs[0], dtype=f"{before} or self"),)) if found else row


def _inplace(row) -> str:
    row = _self_for_out(row)
    scope = _scope(row)
    checks = [scope.check(text) for text in row.inplace_check]
    operands = scope.operands(row.outputs[0].shape)
    lines = [*_opening(row, scope), *checks, *_recording(row, True),
             "cdef Shape shape", scope.shape(row.outputs[0].shape),
             "cdef TensorBase result = infer.inplace_output(self, &shape, result_dtype)",
             *(f"infer.check_partial_overlap(self, {other})" for other in operands if other != "self"),
             *([] if operands else _kept_apart(row, "result", "", "self")),
             "if result.numel:", *_keep_self(row), *_begin(row), f"    {_kernel_call(row, ['result'], 'result_dtype')}",
             "finish(result, self)", *_record(row, ["self"], True), "return self"]
    return _text(f"cdef TensorBase op_{inplace_name(row)}({inplace_parameters(row)})", lines)


def _written_self(row) -> str:
    """An op that has only the in-place form: fill_, zero_. All elements get one value, so overlap does no harm."""
    scope = _scope(row)
    call = _kernel_call(row, [], "self.dtype").replace("(self", "(distinct(self)", 1)
    lines = [*_opening(row, scope), *_recording(row, True), "if self.numel:", *_keep_self(row), f"    {call}",
             "count_version(self)", *_record(row, ["self"], True), "return self"]
    return _text(f"cdef TensorBase op_{row.slot}({function_parameters(row)})", lines)


def _text(head, lines) -> str:
    return f"{head}:\n" + "".join(f"    {line}\n" for line in lines)
