"""The device-neutral functions of operators on lists of tensors: _foreach_* and _fused_*.

A row with `each` names the op on one tensor. Where a device has a kernel for lists, and all tensors are alike (one
dtype, one device, contiguous, nothing to record), and the op on one tensor would give their dtype, the kernel takes
the whole list. Otherwise the op runs on one tensor after the other: that is also what is recorded for autograd.
"""
from .emit_python import default_value
from .rows import RowError, inplace_name
from .rules import Scope


def parameters(row) -> str:
    return ", ".join(f"{a.c_type}{a.name}" for a in row.kernel_arguments)


def kernel_parameters(row) -> str:
    """Those of the slot: the list of results last, which is `self` where it is written."""
    return parameters(row) + (", list out" if row.schema.returns else "")


def dtypes_name(row) -> str:
    """The member of Kernels that says which dtypes the kernel for lists takes, as bits."""
    return f"{row.slot}_dtypes"


def settled(table, rows) -> list:
    """Functions that say what one tensor's op gives, of each op that rows with kernels for lists stand on."""
    targets = {row.each: table.by_key[row.each] for row in rows if row.has_slot and row.each}
    return [text for target in targets.values() if not target.by_hand for text in _settle(target)]


def _settle(target) -> list:
    """`dtype_<slot>` checks the arguments too; `shape_<slot>` is for ops whose results are not like their operands."""
    scope = Scope(target)
    scope.types["result_dtype"] = "ScalarType"
    arguments = parameters(target)
    if not target.outputs:
        return []
    out = target.outputs[0]
    lines = [f"cdef ScalarType result_dtype = {scope.dtype(out.dtype)}", *map(scope.check, target.check),
             "return result_dtype"]
    made = [_text(f"cdef ScalarType dtype_{target.slot}({arguments}) except *", lines)]
    if not scope.operands(out.shape):
        made.append(_text(f"cdef TensorBase output_{target.slot}({arguments})", [
            "cdef Shape shape", scope.shape(out.shape), f"cdef ScalarType result_dtype = {scope.dtype(out.dtype)}",
            f"return infer.output(None, &shape, result_dtype, {target.schema.arguments[0].name}.device_type, "
            f"{target.schema.arguments[0].name}.device_index)"]))
    return made


class _Each:
    """The call of a row's op on one tensor."""

    def __init__(self, row, table):
        self.row, self.target = row, table.by_key[row.each]
        given, by_name = row.each_values
        names = [a.name for a in self.target.kernel_arguments]
        if len(given) > len(names) or set(by_name) - set(names):
            raise RowError(f"{row.family}.toml: {row.key}: {row.each} takes ({', '.join(names)})")
        self.values = dict(zip(names, given, strict=False)) | by_name

    def arguments(self, index, number) -> list:
        """C values of the target's arguments: element `index` of each list, `number` for that of numbers."""
        return [self._value(argument, index, number) for argument in self.target.kernel_arguments]

    def _value(self, argument, index, number) -> str:
        name = self.values.get(argument.name)
        if name is None:
            return default_value(self.target, argument, {})
        given = self.row.schema.argument(name)
        if given is None:
            return name
        return {"Tensor[]": f"<TensorBase>{name}[{index}]", "Scalar[]": number}.get(given.type, name)

    def call(self, inplace) -> str:
        """The statement or value for tensor `i`."""
        arguments = self.arguments("i", "&number")
        if self.target.by_hand:     # written by hand: there is its Python method only
            return f"(<object>{arguments[0].removeprefix('<TensorBase>')}).{self.target.schema.name}" \
                   f"({', '.join(a.removeprefix('<TensorBase>') for a in arguments[1:])})"
        if self.target.schema.inplace:
            return f"op_{self.target.slot}({', '.join(arguments)})"
        if inplace and self.target.inplace:
            return f"op_{inplace_name(self.target)}({', '.join(arguments)})"
        written, *rest = arguments
        if not inplace:
            return f"op_{self.target.slot}({', '.join([written, *rest, 'None'])})"
        # The op has no in-place form that would keep what its derivative looks at.
        kept = f"before_write({written}) if tracked({written}) else {written}"
        return f"lists.write({written}, op_{self.target.slot}({', '.join([kept, *rest, 'None'])}))"


def imports(table, rows) -> str:
    """cimports of the ops on one tensor."""
    needed = {}
    for row in (row for row in rows if row.each):
        target = table.by_key[row.each]
        if target.by_hand:
            continue
        names = needed.setdefault(target.family, set())
        names.add(f"op_{target.slot}")
        if row.inplace and target.inplace:
            names.add(f"op_{inplace_name(target)}")
    return "".join(f"from mindtorch._core._gen.{family} cimport (\n    {', '.join(sorted(names))})\n"
                   for family, names in sorted(needed.items()))


def functions(row, table) -> list:
    if not row.each:
        return [_with_kernel(row)]
    forms = [False] if row.schema.returns else []
    forms += [True] if row.inplace or row.schema.inplace else []
    return [_each(row, table, inplace) for inplace in forms]


def name_of(row, inplace) -> str:
    return f"op_{inplace_name(row) if inplace and not row.schema.inplace else row.slot}"


def _lengths(row) -> list:
    """Lines that check the lengths of all lists against that of the first."""
    first, *others = row.schema.lists
    lines = [f"lists.length({first.name})", *(f"lists.check_length({first.name}, {a.name})" for a in others)]
    return lines + [f"lists.check_count({first.name}, {a.name})" for a in row.schema.arguments if a.type == "Scalar[]"]


def _each(row, table, inplace) -> str:
    each, scope = _Each(row, table), Scope(row)
    main = row.schema.lists[0].name
    numbers = next((a.name for a in row.schema.arguments if a.type == "Scalar[]"), None)
    lines = ["cdef Py_ssize_t i", *(["cdef Scalar number"] if numbers else []), *_lengths(row),
             *map(scope.check, row.check)]
    if row.has_slot:
        lines += _together(row, each, inplace, numbers)
    if row.uniform:
        name = name_of(table.by_key[row.uniform], inplace)
        given = ", ".join("&number" if a.name == numbers else a.name for a in row.kernel_arguments)
        lines += [f"if lists.uniform({numbers}):", f"    scalar_from({numbers}[0], &number)",
                  f"    return {name}({given})"]
    loop = [f"for i in range(len({main})):"]
    if numbers:
        loop.append(f"    scalar_from({numbers}[i], &number)")
    if inplace:
        lines += [*loop, f"    {each.call(True)}", f"return {main}"]
    else:
        lines += ["cdef list results = []", *loop, f"    results.append({each.call(False)})", "return tuple(results)"]
    return _text(f"cdef {'list' if inplace else 'tuple'} {name_of(row, inplace)}({parameters(row)})", lines)


def _together(row, each, inplace, numbers) -> list:
    """Lines that hand the whole lists to the device's kernel, where it may take them."""
    scope, target = Scope(row), each.target
    main, *others = [a.name for a in row.schema.lists]
    tests = [f"lists.alike({main}, KERNELS[first.device_type].{dtypes_name(row)})",
             *(f"lists.beside({main}, {name})" for name in others), *map(scope.permission, row.together)]
    lines = [f"cdef TensorBase first = <TensorBase>{main}[0]"]
    if numbers:
        lines.append(f"lists.widest({numbers}, &number)")
    if not target.by_hand and target.outputs:
        tests.append(f"dtype_{target.slot}({', '.join(each.arguments(0, '&number'))}) == first.dtype")
    lines.append(f"if ({' and '.join(tests)}):")
    names = [a.name for a in row.kernel_arguments]
    kernel = f"KERNELS[first.device_type].{row.slot}"
    if not row.schema.returns:
        return [*lines, f"    {kernel}({', '.join(names)})", f"    lists.count_versions({main})", f"    return {main}"]
    if inplace:
        return [*lines, f"    {kernel}({', '.join([*names, main])})", f"    lists.count_versions({main})",
                f"    return {main}"]
    made = f"lists.outputs({main})"
    if not Scope(target).operands(target.outputs[0].shape):
        made = f"[output_{target.slot}({', '.join(each.arguments('i', '&number'))}) for i in range(len({main}))]"
    return ["cdef list out", *lines, f"    out = {made}", f"    {kernel}({', '.join([*names, 'out'])})",
            "    return tuple(out)"]


def _with_kernel(row) -> str:
    """An op that has a kernel for lists on every device, and writes to some of them: the fused optimizers."""
    scope = Scope(row)
    main = row.schema.lists[0]
    lines = [f'lists.check_any({main.name}, "{row.key}")', "cdef Place place", f"place_of_list(&place, {main.name})",
             f"if KERNELS[place.type].{row.slot} == NULL:",
             f'    no_kernel("{row.key}", place.type, (<TensorBase>{main.name}[0]).dtype)',
             *map(scope.check, row.check)]
    lines += [f"if not {scope.permission(text)}:\n        return None" for text in row.together]
    lines.append(f"KERNELS[place.type].{row.slot}({', '.join(a.name for a in row.kernel_arguments)})")
    lines += [f"lists.count_versions({a.name})" for a in row.schema.lists if a.written]
    return _text(f"cdef object {name_of(row, True)}({parameters(row)})", [*lines, "return None"])


def _text(head, lines) -> str:
    return f"{head}:\n" + "".join(f"    {line}\n" for line in lines)
