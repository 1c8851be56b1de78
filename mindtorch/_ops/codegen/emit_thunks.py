"""mindtorch/_npu/_gen/thunks.pyx: what calls.py names, as functions: phase 1 by C signature, adapters and conditions.

    static aclnnStatus call_17(void *function, const AclnnValue *values, ...)     one for each signature of phase 1
    cdef object adapt_dims_or_all(Argument *values, Argument *result, Storage *storage)  one for each adapter
    cdef int condition_clamp_Tensor_0(Argument *arguments) except -1              one for each condition of a row
"""
import ast

from .aclnn import operators
from .aclnn_calls import adapters, has_storage, signature_of
from .arguments import member, unpacked
from .emit_grad import NOTE

_BY_VALUE = {"double": "values[{}].real", "float": "(float)values[{}].real", "bool": "values[{}].integer != 0",
             "int64_t": "values[{}].integer"}


def module(calls) -> str:
    thunks = [_thunk(number, signature) for signature, number in calls.signatures.items()]
    numbers = ", ".join(f"call_{number}" for number in range(len(thunks)))
    functions = [_adapter(name) for name in sorted(calls.adapters)]
    functions += [_condition(name, *condition) for name, condition in calls.conditions.items()]
    return (NOTE.format(source="*.toml") +
            '"""What differs between calls of ACLNN, as functions of one C signature."""\n'
            "from cpython.ref cimport PyObject\nfrom libc.stdint cimport int64_t\n\n"
            "from mindtorch._core.tensor.generator cimport Generator\n"
            "from mindtorch._core.operators.operator cimport Argument\n"
            "from mindtorch._core.tensor.tensor cimport TensorBase\n"
            "from mindtorch._npu.aclnn_call cimport *\n"
            "from mindtorch._npu.cann cimport AclnnPhase1\n\n"
            'cdef extern from *:\n    """\n    #include <stdbool.h>\n    #include "mindtorch/aclnn_call.h"\n\n'
            + "".join(f"    {line}\n" if line else "\n" for line in "".join(thunks).splitlines()) +
            f"    static AclnnPhase1 aclnn_signatures[] = {{{numbers}}};\n"
            '    """\n    AclnnPhase1 aclnn_signatures[]\n\n\n' + "\n\n".join(functions) + "\n\n"
            + _array("AdapterFunction", "ADAPTERS", "adapt", sorted(calls.adapters))
            + _array("ConditionFunction", "CONDITIONS", "condition", calls.conditions)
            + "register_thunks(aclnn_signatures, ADAPTERS_BY_NAME, ADAPTERS, CONDITIONS_BY_NAME, CONDITIONS)\n")


def assignments(calls, names, headers) -> str:
    """A C file that compiles where the headers declare each operator named with the signature of its calls."""
    lines = ['#include "mindtorch/aclnn_call.h"\n#include <stdbool.h>\n']
    lines += [f'#include "aclnnop/{header}"\n' for header in sorted(headers)]
    lines += [f"{_pointer(f'signature_{number}', signature)};\n" for signature, number in calls.signatures.items()]
    for name in sorted(names):
        number = calls.signatures[signature_of(operators()[name])]
        lines.append(f"signature_{number} {name}_phase_1 = {name}GetWorkspaceSize;\n")
        lines.append(f"aclnnStatus (*{name}_phase_2)(void *, uint64_t, aclOpExecutor *, aclrtStream) = {name};\n")
    return "".join(lines)


def _pointer(name, signature) -> str:
    types = ", ".join([*signature, "uint64_t *", "aclOpExecutor **"])
    return f"typedef aclnnStatus (*{name})({types})"


def _thunk(number, signature) -> str:
    values = [f"values[{place}].pointer" if c_type.endswith("*") else
              _BY_VALUE.get(c_type, f"({c_type})values[{{}}].integer").format(place)
              for place, c_type in enumerate(signature)]
    return (f"{_pointer(f'signature_{number}', signature)};\n"
            f"static aclnnStatus call_{number}(void *function, const AclnnValue *values, uint64_t *size, "
            "aclOpExecutor **executor) {\n"
            f"  return ((signature_{number})function)({', '.join([*values, 'size', 'executor'])});\n}}\n")


def _adapter(name) -> str:
    returns, types = adapters()[name]
    values, storage = [], []
    if has_storage(name):
        storage = [f"&storage.{'shape' if types[0] == 'Shape *' else 'scalar'}"]
        types = types[1:]
    values = storage + [unpacked(c_type, f"values[{place}]") for place, c_type in enumerate(types)]
    call = f"{name}({', '.join(values)})"
    head = f"cdef object adapt_{name}(Argument *values, Argument *result, Storage *storage):\n"
    if returns in ("TensorBase", "list"):
        return f"{head}    made = {call}\n    result.object = <PyObject *>made\n    return made\n"
    if returns == "char *":
        return f"{head}    result.object = <PyObject *>{call}\n"
    held = "integer" if returns == "aclDataType" else member(returns)
    return f"{head}    result.{held} = {call}\n"


def _condition(name, text, types) -> str:
    places = {argument: place for place, argument in enumerate(types)}

    class Unpack(ast.NodeTransformer):
        def visit_Name(self, node):
            if node.id not in places:
                return node
            return ast.Name(f"({unpacked(types[node.id], f'arguments[{places[node.id]}]')})", ast.Load())

    expression = ast.unparse(Unpack().visit(ast.parse(text, mode="eval")))
    return f"cdef int condition_{name}(Argument *arguments) except -1:\n    return {expression}\n"


def _array(c_type, name, prefix, functions) -> str:
    places = "".join(f'    "{function}": {place},\n' for place, function in enumerate(functions))
    entries = "".join(f"{name}[{place}] = {prefix}_{function}\n" for place, function in enumerate(functions))
    return (f"cdef {c_type} {name}[{len(functions)}]\n{entries}"
            f"{name}_BY_NAME = {{\n{places}}}\n\n")
