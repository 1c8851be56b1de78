"""Calls of operators for lists of tensors: in parts where an operator takes the lists, one by one where it does not."""
from .aclnn_calls import COMMON_DTYPES, read_call
from .emit_lists import kernel_parameters


def in_parts(row) -> list:
    """Lines that split long lists over several calls: an operator takes so many tensors in all, as in torch_npu."""
    main, *others = [a.name for a in row.schema.lists]
    parts = ["part" if a.name == main else f"{a.name}[at:at + most]" if a.type.endswith("[]") else a.name
             for a in row.kernel_arguments]
    count = str(1 + len(others))
    if row.schema.returns:
        count = f"({count} if out is {main} else {2 + len(others)})"
        parts.append(f"part if out is {main} else out[at:at + most]")
    return ["cdef Py_ssize_t at", f"cdef Py_ssize_t most = LIST_TENSORS // {count}", f"if len({main}) > most:",
            f"    for at in range(0, len({main}), most):", f"        part = {main}[at:at + most]",
            f"        {row.slot}({', '.join(parts)})", "    return 0"]


def dtypes_of_lists(row) -> int:
    """The dtypes that the operator documents for all of its lists, as bits."""
    dtypes = COMMON_DTYPES
    for value in read_call(row, row.npu).values:
        if value.parameter.kind == "aclTensorList" and value.mask:
            dtypes &= value.mask
    return dtypes


def runs_one_by_one(call) -> bool:
    """Whether the operator takes one tensor where the row gives a list."""
    return any(value.parameter.kind == "aclTensor" and value.type == "list" for value in call.values)


def one_by_one(row, call) -> list:
    """The call for tensor `i`, and the function that makes it for each; adapters see the whole lists, once."""
    operator = call.operator.name
    symbol, main = f'b"{operator}"', row.schema.lists[0].name
    adapted = {f"t{index}": value for index, value in enumerate(call.values)
               if value.name is None and value.type == "list"}
    lines = [f"open_call(&call, <TensorBase>{main}[i])"]
    arguments = []
    for index, value in enumerate(call.values):
        if value.parameter.kind != "aclTensor" or value.type == "absent":
            arguments.append(value.text)
            continue
        name = value.name or f"t{index}"
        const = "const " if value.parameter.type.startswith("const") else ""
        lines.append(f"cdef {const}aclTensor *a{index} = optional_tensor_argument("
                     f"&call, <TensorBase>{name}[i] if {name} else None)")
        arguments.append(f"a{index}")
    arguments += ["&call.workspace_size", "&call.executor"]
    lines += [f"return launch(&call, aclnn.{operator}GetWorkspaceSize(", f"    {', '.join(arguments)}), {symbol}, "
              f"<Phase2>aclnn.{operator})"]
    lists = "".join(f", list {name}" for name in adapted)
    head = f"cdef int {row.slot}_at(Py_ssize_t i, {kernel_parameters(row)}{lists}) except -1"
    names = ", ".join([a.name for a in row.kernel_arguments] + list(adapted))
    every = [f"if aclnn.{operator} == NULL:", f'    missing_symbol({symbol}, b"{row.since}")',
             *_documented(call, main), *(f"cdef list {name} = {value.text}" for name, value in adapted.items()),
             f"for i in range(len({main})):", f"    {row.slot}_at(i, {names})", "return 0"]
    return [_text(head, ["cdef Call call", *lines]),
            _text(f"cdef int {row.slot}({kernel_parameters(row)}) except -1", ["cdef Py_ssize_t i", *every])]


def _documented(call, main) -> list:
    """Lines that refuse a dtype which the operator does not document."""
    value = next(value for value in call.values if value.name == main)
    if not value.mask:
        return []
    return [f"for i in range(len({main})):", f"    if not ({value.mask:#x} >> (<TensorBase>{main}[i]).dtype) & 1:",
            f"        conform(<TensorBase>{main}[i], (<TensorBase>{main}[i]).dtype, {value.mask:#x}, "
            f'b"{call.operator.name}",',
            f'                b"{value.parameter.name}")']


def _text(head, lines) -> str:
    return f"{head}:\n" + "".join(f"    {line}\n" for line in lines)
