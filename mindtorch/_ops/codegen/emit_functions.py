"""mindtorch/_core/_gen/functions.py: the Python functions and methods of operators, as data.

A function has the parameters of all its overloads, merged (emit_python.py). _core/python/operator_function.pyx binds
arguments to them, picks the first overload whose tests hold, and converts what its operator gets.
"""
import ast

from . import emit_python
from .emit_grad import NOTE
from .rows import RowError

_TABLES = ("FUNCTIONS", "METHODS", "ATEN", "NPU")
_DOCUMENTED = ('"""By name: functions of the torch namespace, methods of Tensor, what is in torch.ops.aten alone, and\n'
               'what torch_npu has."""\n')


def module(table) -> str:
    """The specifications of all functions, in tables by namespace; names that are aliases map to a function's name."""
    found = {name: {} for name in _TABLES}
    aliases = {}
    for alias, name in table.aliases.items():
        aliases.setdefault(name, []).append(alias)
    for family in table.families:
        for function in emit_python.functions(table, family):
            for name in [function.name, *aliases.get(function.name, ())]:
                space = _namespace(function, name, table)
                if space:
                    found[space][name] = (_specification(function, table) if name == function.name
                                          else f"FUNCTIONS[{function.name!r}]" if space == "ATEN"
                                          else repr(function.name))
    text = NOTE.format(source="*.toml") + _DOCUMENTED
    for space, entries in found.items():
        lines = "".join(f'    "{name}": {entry},\n' for name, entry in sorted(entries.items()))
        text += f"\n{space} = {{\n{lines}}}\n"
    return text


def _namespace(function, name, table) -> str | None:
    if name.startswith("special_") and name != function.name:       # torch.special has functions of torch once more
        return None if function.method or function.inplace else "ATEN"
    if function.aten:
        return "NPU" if function.npu else "ATEN"
    if function.method:
        return "METHODS"
    return "FUNCTIONS" if not function.inplace or name in table.inplace_functions else None


def _specification(function, table) -> str:
    emitter = emit_python.Overloads(function, table)
    parameters = [(p.name, "NotImplemented" if _refuses_none(function, p) else p.default and _literal(p.default),
                   p.keyword_only, tuple(p.synonyms)) for p in function.parameters]
    parts = {"parameters": "[" + ", ".join(f'("{n}", {d or "..."}, {k}, {s})' for n, d, k, s in parameters) + "]",
             "overloads": "[\n" + "".join(f"        {_overload(emitter, row)},\n" for row in emitter.test_order()) +
                          "    ]"}
    if function.takes_out:
        parts["out_count"] = str(function.results)
    for flag in ("method", "inplace"):
        if getattr(function, flag):
            parts[flag] = "True"
    if emitter.accepts_number_self():
        parts["accepts_number_self"] = "True"
    if function.varargs:
        parts["varargs"] = "True"
    if function.name in emit_python.named_results():
        parts["return_type"] = "True"
    if signatures := emitter.signatures():
        parts["signatures"] = repr(signatures)
    if older := _older(function):
        parts["older"] = repr(older)
    body = ", ".join(f'"{name}": {text}' for name, text in parts.items())
    return f"{{{body}}}"


def _refuses_none(function, parameter) -> bool:
    """Whether some overloads lack it and the others require it, so that None is not "absent": max(input, None)."""
    arguments = parameter.by_overload.values()
    return parameter.default == "None" and len(arguments) < len(function.rows) and all(
        a.default is None and a.type in ("Tensor", "Scalar", "int", "int[]?") for a in arguments)


def _older(function) -> dict:
    """Number of arguments given by position -> the parameters that they are, in older orders."""
    found = {}
    for row in function.rows:
        indices = {parameter.by_overload[row.key].name: index for index, parameter in enumerate(function.parameters)
                   if row.key in parameter.by_overload}
        for order in row.older:
            names = order.split(", ")
            if function.method:
                names.sort(key=lambda name: name != "self")
            found[len(names)] = tuple(indices[name] for name in names)
    return found


def _literal(text) -> str:
    return repr(ast.literal_eval(text))


def _overload(emitter, row) -> str:
    """(row, operator, tests, conversions, defaults).

    A test is (parameter, type), where "" stands for None. A conversion is (parameter, type, argument); for an int[n] a
    number may stand. Where the operator takes a tensor in place of a number, or the other way round, a second one
    follows: a key of SECOND_CONVERSIONS in operator_function.pyx.
    """
    function, table = emitter.function, emitter.table
    target = table.by_key[row.alias_of] if row.alias_of else row
    indices = {a.name: index for index, a in enumerate(target.kernel_arguments)}
    tests, conversions = [], []
    discriminating = emitter.discriminating() if len(function.rows) > 1 else []
    for index, parameter in enumerate(function.parameters):
        argument = parameter.by_overload.get(row.key)
        if parameter in discriminating:
            tests.append((index, _test(argument, _refuses_none(function, parameter))))
        elif argument is None and parameter.default == "False":        # max(input, other, keepdim=True) fits nothing
            tests.append((index, "False"))
        if argument is None:
            continue
        wanted = target.schema.argument(argument.name)
        if argument.name not in indices:
            raise RowError(f"{row.family}.toml: {row.key}: {target.key} has no argument {argument.name!r}")
        conversion = ""
        if argument.type == "Scalar" and wanted.is_tensor:
            conversion = _as_tensor(row, target, argument.name)
        elif argument.type == "Tensor" and not wanted.is_tensor:
            conversion = "packed_scalars" if wanted.type == "Scalar[]" else "single_number"
        type_ = argument.type
        if argument.sized or argument.name == "dim":            # torch has an overload for one dimension
            type_ = type_.replace("int[]", "int[n]")
        if type_ in ("int[]", "int[n]") and argument.default is not None:
            type_ += "?"                                        # None stands for a default
        conversions.append((index, type_, indices.pop(argument.name), *([conversion] if conversion else [])))
    if discriminating and function.takes_out and not row.takes_out:
        tests.append((len(function.parameters), ""))            # out= must be absent
    defaults = {index: emit_python.default_literal(target, target.kernel_arguments[index], row.alias_values)
                for index in indices.values()}
    return repr((row.key, target.key, tests, conversions, defaults))


def _test(argument, refuses_none) -> str:
    """What the overload asks of a parameter, of which `argument` is its own."""
    if argument is None:
        return "absent" if refuses_none else ""
    return "given" if refuses_none and argument.type == "int[]?" else argument.type      # where None may be given


def _as_tensor(row, target, name) -> str:
    """How a number becomes a tensor: where(condition, x, 0). Named for functions of _core/operators/operator.pxd."""
    if not any(a.type == "Tensor" and a.name != "condition" for a in row.schema.arguments):
        return "inferred_scalar"
    return "promoted_host_scalar" if name in target.host_read else "promoted_scalar"


def namespace() -> str:
    """mindtorch/_core/_gen/namespace.py: the functions of operators by name."""
    return (NOTE.format(source="*.toml") + _DOCUMENTED +
            "from mindtorch._core.python import operator_function as _operator_function\n"
            "from mindtorch._core._gen import functions as _specifications\n"
            "from mindtorch._core._gen import rules as _rules                       # registers the rules of rows\n\n" +
            "".join(f'{name} = _operator_function.make_functions(_specifications.{name}, "{name}")\n'
                    for name in _TABLES))
