"""mindtorch/_core/_gen/rules.pyx: one function for each rule that rows name, all with the same C signature.

A rule is a function of _core (rules.RULE_MODULES) about shapes or dtypes, or a check. A row's calls of rules are data,
`encode` writes them: the rule's name, then where each of its arguments is found.

    "a3"                    argument 3 of the operator (its results follow the arguments of the schema)
    "d3"                    the dtype of that tensor
    "r0"                    the dtype of result 0
    "g3"                    whether argument 3 was given
    ("=", "words")          a constant
    ("promote", "a0", "a1") what another rule gives
"""
import ast

from .arguments import unpacked
from .emit_grad import NOTE
from .rules import ELEMENTWISE, RULE_CIMPORTS, SCALAR_TYPES, RuleError, rules

_CODES = {"Byte": 0, "Char": 1, "Short": 2, "Int": 3, "Long": 4, "Half": 5, "Float": 6, "Double": 7, "ComplexFloat": 9,
          "ComplexDouble": 10, "Bool": 11, "BFloat16": 15}


class Encoder:
    """Encodes the rules of one row; `used` collects, by the name of a rule, the keys of the rows that use it."""

    def __init__(self, row, used):
        self.places = {a.name: index for index, a in enumerate(row.kernel_arguments)}
        self.types = {a.name: a.c_type.strip() for a in row.kernel_arguments}
        for name in row.result_names:
            self.places[name] = len(self.places)
            self.types[name] = "TensorBase"
        self.dtypes = {f"result_dtype{index or ''}": index for index in range(len(row.outputs))}
        self.key = row.key
        self.used = used

    def shape(self, text):
        node = _parse(text)
        if isinstance(node, ast.Name) and self.types.get(node.id) == "const Shape *":
            return ("ints", f"a{self.places[node.id]}")
        return self._call(node, is_shape_rule=True)

    def operands(self, text) -> list:
        """The places of the tensors that an elementwise operator's shape comes from; none for other operators."""
        node = _parse(text)
        if isinstance(node, ast.Call) and node.func.id in ELEMENTWISE:
            return [self.places[a.id] for a in node.args
                    if isinstance(a, ast.Name) and self.types[a.id] == "TensorBase"]
        return []

    def dtype(self, text):
        node = _parse(text)
        *given, rule = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else [node]
        value = self._value(rule, "ScalarType")
        if not given and isinstance(value, tuple) and value[0] != "=":
            return value
        names = [f"{'d' if self.types[n.id] == 'TensorBase' else 'a'}{self.places[n.id]}" for n in given]
        return ("or", *names, value)

    def check(self, text):
        return self._call(_parse(text))

    def _call(self, node, is_shape_rule=False):
        if not isinstance(node, ast.Call):
            raise RuleError(f"{ast.unparse(node)!r} is no call of a rule")
        rule = rules().get(node.func.id)
        if rule is None or rule.is_shape_rule != is_shape_rule:
            raise RuleError(f"unknown rule {node.func.id!r}: docs/rules.md lists them")
        wanted = rule.parameters[1:] if is_shape_rule else rule.parameters
        if len(node.args) != len(wanted):
            raise RuleError(f"{rule.name} takes {len(wanted)} arguments, not {len(node.args)}")
        self.used.setdefault(rule.name, {})[self.key] = True
        return (rule.name, *(self._value(a, type_) for a, type_ in zip(node.args, wanted, strict=True)))

    def _value(self, node, wanted):
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Constant):
            return ("=", float(node.value) if wanted == "double" else node.value)
        if isinstance(node, ast.Compare):                   # "min is None" where a check wants a bool
            return f"g{self.places[node.left.id]}"
        if not isinstance(node, ast.Name):
            raise RuleError(f"cannot read {ast.unparse(node)!r} in a rule")
        if wanted == "ScalarType" and node.id in SCALAR_TYPES and node.id not in self.types:
            return ("=", _CODES[SCALAR_TYPES[node.id]])
        if node.id in self.dtypes:
            return f"r{self.dtypes[node.id]}"
        actual = self.types.get(node.id)
        if actual is None:
            raise RuleError(f"the schema has no argument {node.id!r}")
        if wanted == "ScalarType" and actual == "TensorBase":
            return f"d{self.places[node.id]}"
        if actual.replace(" ", "") != wanted.replace(" ", ""):
            raise RuleError(f"{node.id!r} is a {actual}, the rule wants a {wanted}")
        return f"a{self.places[node.id]}"


def module(used) -> str:
    """The functions of the rules in use, and how they are found by name."""
    functions, entries = [], []
    for index, name in enumerate(sorted(used)):
        rule = rules()[name]
        types = rule.parameters[1:] if rule.is_shape_rule else rule.parameters
        values = [unpacked(c_type, f"values[{place}]") for place, c_type in enumerate(types)]
        call = f"{rule.module}.{name}({', '.join(['shape', *values] if rule.is_shape_rule else values)})"
        functions.append(f"cdef int rule_{name}(Argument *values, Shape *shape) except? -1:\n    return <int>{call}\n")
        entries.append(f"RULES[{index}] = rule_{name}\n")
    places = "".join(f'    "{name}": {index},\n' for index, name in enumerate(sorted(used)))
    return (NOTE.format(source="*.toml") + '"""Every rule that a row names, with one C signature."""\n'
            "from libc.stdint cimport int64_t\n\n"
            f"{RULE_CIMPORTS}"
            "from mindtorch._core.tensor.generator cimport Generator\n"
            "from mindtorch._core.operators.operator cimport Argument, RuleFunction, register_rules\n"
            "from mindtorch._core.tensor.dtype cimport ScalarType\n"
            "from mindtorch._core.tensor.tensor cimport Shape, TensorBase\n\n\n" + "\n\n".join(functions) +
            f"\n\ncdef RuleFunction RULES[{len(used)}]\n{''.join(entries)}\n"
            f"register_rules({{\n{places}}}, RULES)\n")


def _parse(text):
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise RuleError(f"rule {text!r} is no expression") from None
