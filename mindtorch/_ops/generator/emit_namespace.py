"""mindtorch/_core/_gen/namespace.py: which generated function is a torch function, and which a method."""
from .emit_core import NOTE
from .emit_python import functions


def module(table) -> str:
    free, methods, aten, npu = {}, {}, {}, {}
    aliases = {}
    for alias, name in table.aliases.items():
        aliases.setdefault(name, []).append(alias)
    families = []
    for family in table.families:
        made = functions(table, family)
        if made:
            families.append(family)
        for function in made:
            for name in [function.name, *aliases.get(function.name, ())]:
                if function.aten:
                    (npu if function.npu else aten)[name] = f"{family}.{function.name}"
                elif function.method:
                    methods[name] = f"{family}.Methods.{function.name}"
                elif not function.inplace or name in table.inplace_functions:
                    free[name] = f"{family}.{function.name}"
    imports = "".join(f"from mindtorch._core._gen import {family}\n" for family in families)
    imports += "from mindtorch._core._gen import operators as _operators    # fills OPERATORS\n"
    return (NOTE.format(source="*.toml") +
            '"""By name: functions of the torch namespace, methods of Tensor, what is in torch.ops.aten alone, and\n'
            'what torch_npu has."""\n' +
            imports + _table("FUNCTIONS", free) + _table("METHODS", methods) + _table("ATEN", aten) +
            _table("NPU", npu))


def _table(name, entries) -> str:
    return f"\n{name} = {{\n" + "".join(f'    "{key}": {value},\n' for key, value in sorted(entries.items())) + "}\n"
