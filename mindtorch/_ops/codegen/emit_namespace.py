"""mindtorch/_core/_gen/namespace.py: the functions of operators by name."""
from .emit_grad import NOTE


def module(table) -> str:
    return (NOTE.format(source="*.toml") +
            '"""By name: functions of the torch namespace, methods of Tensor, what is in torch.ops.aten alone, and\n'
            'what torch_npu has."""\n'
            "from mindtorch._core import number_operators as _number_operators    # fills OPERATORS\n"
            "from mindtorch._core import operator_function as _operator_function\n"
            "from mindtorch._core._gen import functions as _specifications\n"
            "from mindtorch._core._gen import rules as _rules                       # registers the rules of rows\n\n" +
            "".join(f'{name} = _operator_function.make_functions(_specifications.{name}, "{name}")\n'
                    for name in ("FUNCTIONS", "METHODS", "ATEN", "NPU")))
