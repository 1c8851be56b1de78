"""What autocast does before an operator: lines of its device-neutral function, and the policies of ops without one."""
from .emit_grad import NOTE
from .rows import POLICIES

_CAST = ("Tensor", "Tensor?", "Tensor[]")


def prologue(row) -> list:
    """Lines that cast the arguments. torch casts for plain forms only: out= and in-place forms keep what they got."""
    if not row.autocast:
        return []
    arguments = [a for a in row.kernel_arguments if a.type in _CAST]
    policies = [_when(row, row.autocast.get(device)) for device in ("cpu", "npu")]
    values = "".join(f"{a.name}, " for a in arguments)
    casts = [f"<{a.c_type.strip()}>casts[{i}]" for i, a in enumerate(arguments)]
    assigned = [f"    {a.name} = {value}" for a, value in zip(arguments, casts, strict=True)]
    return ["cdef tuple casts", f"if autocast.threads and {row.result_names[0]} is None:",
            f"    casts = autocast.cast({', '.join(policies)}, ({values.rstrip()}))", *assigned]


def _when(row, policy) -> str:
    """A policy in C; one that sets the dtype does nothing where the call says which."""
    code = f"autocast.{(policy or 'not_listed').upper()}"
    if policy == "fp32_set_opt_dtype" and row.schema.argument("dtype"):
        return f"{code} if dtype == Undefined else autocast.NOT_LISTED"
    return code


def policies(table) -> str:
    """The module with the policies of what has no generated function: op -> (cpu, npu), by the codes of Policy."""
    lines = []
    for name, devices in sorted(table.autocast.items()):
        if name not in table.by_key or table.by_key[name].by_hand:
            codes = [POLICIES.index(devices.get(device, "not_listed")) for device in ("cpu", "npu")]
            lines.append(f'    "{name}": ({codes[0]}, {codes[1]}),\n')
    return NOTE.format(source="autocast.toml") + f"POLICIES = {{\n{''.join(lines)}}}\n"
