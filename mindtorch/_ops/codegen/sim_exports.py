"""Write the simulator's operator exports: `python -m mindtorch._ops.codegen.sim_exports OUT_DIR`

OUT_DIR/opapi_rules.inc has the operators that a kernel source registers with SIM_OP, with the rules that CANN documents
about their parameters. An in-place operator without a kernel runs that of its plain form, an operator on lists of
tensors that of the elementwise operator. OUT_DIR/opapi_exports.inc defines both phases of every operator of
aclnn_ops.jsonl. Operators without a kernel return 561003 for all arguments.
"""
import functools
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

from .aclnn import MAX_RANK, TABLE, operators

KERNELS = Path(__file__).parents[2] / "_sim" / "opapi" / "kernels"
_REGISTRATION = re.compile(r"^SIM_(OP|ELEMENTWISE|POINTWISE|FOREACH)\((\w+),", re.MULTILINE)

# aclDataType values, for the bit masks of the rules.
_DTYPES = {
    "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6, "UINT16": 7, "UINT32": 8, "INT64": 9,
    "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "STRING": 13, "COMPLEX64": 16, "COMPLEX128": 17, "BF16": 27, "INT4": 29,
    "UINT1": 30, "COMPLEX32": 33, "HIFLOAT8": 34, "FLOAT8_E5M2": 35, "FLOAT8_E4M3FN": 36, "FLOAT8_E8M0": 37,
    "FLOAT6_E3M2": 38, "FLOAT6_E2M3": 39, "FLOAT4_E2M1": 40, "FLOAT4_E1M2": 41,
}
_KINDS = {
    "aclTensor": "kTensor", "aclTensorList": "kTensorList", "aclScalar": "kScalar", "aclScalarList": "kScalarList",
    "aclIntArray": "kIntArray", "aclFloatArray": "kFloatArray", "aclBoolArray": "kBoolArray",
}

# Clients turn Python numbers into scalars of these types and pass them everywhere; operators cast them.
_CLIENT_SCALARS = frozenset({"DOUBLE", "INT64", "BOOL"})

# Parameters that may be NULL beside those whose names say so.
_OPTIONAL = {
    ("aclnnClamp", "clipValueMin"), ("aclnnClamp", "clipValueMax"), ("aclnnReduceSum", "dims"), ("aclnnMean", "dim"),
    ("aclnnMeanV2", "dim"), ("aclnnAmax", "dim"), ("aclnnAmin", "dim"), ("aclnnAll", "dim"), ("aclnnAny", "dim"),
    ("aclnnNLLLoss", "weight"), ("aclnnNLLLossBackward", "weight"), ("aclnnNLLLoss2d", "weight"),
    ("aclnnNLLLoss2dBackward", "weight"), ("aclnnConvolution", "bias"),
    ("aclnnSearchSorted", "sorter"), ("aclnnClampTensor", "clipValueMin"), ("aclnnClampTensor", "clipValueMax"),
    ("aclnnNorm", "dim"), ("aclnnBincount", "weights"), ("aclnnBinaryCrossEntropy", "weight"),
    ("aclnnBatchNorm", "weight"), ("aclnnBatchNorm", "bias"), ("aclnnBatchNorm", "runningMean"),
    ("aclnnBatchNorm", "runningVar"), ("aclnnBatchNorm", "saveMean"), ("aclnnBatchNorm", "saveInvstd"),
    ("aclnnBatchNormBackward", "weight"), ("aclnnBatchNormBackward", "runningMean"),
    ("aclnnBatchNormBackward", "runningVar"), ("aclnnBatchNormBackward", "saveMean"),
    ("aclnnBatchNormBackward", "saveInvstd"), ("aclnnBatchNormBackward", "gradInput"),
    ("aclnnBatchNormBackward", "gradWeight"), ("aclnnBatchNormBackward", "gradBias"),
    ("aclnnLayerNormBackward", "gradInputOut"), ("aclnnLayerNormBackward", "gradWeightOut"),
    ("aclnnLayerNormBackward", "gradBiasOut"), ("aclnnGroupNorm", "gamma"), ("aclnnGroupNorm", "beta"),
    ("aclnnGroupNormBackward", "gamma"), ("aclnnGroupNormBackward", "gradInput"),
    ("aclnnGroupNormBackward", "gradGammaOut"), ("aclnnGroupNormBackward", "gradBetaOut"),
    ("aclnnApplyAdamWV2", "maxGradNormOptionalRef"), ("aclnnFusedSgd", "momentumBufferListOptionalRef"),
    ("aclnnFusedSgd", "gradScaleOptional"), ("aclnnRotaryPositionEmbeddingV2", "rotate"),
    ("aclnnMoeTokenUnpermuteGrad", "probsGradOut"), ("aclnnGroupNormSilu", "gamma"), ("aclnnGroupNormSilu", "beta"),
    ("aclnnConvolutionBackward", "biasSizes"), ("aclnnConvolutionBackward", "gradInput"),
    ("aclnnConvolutionBackward", "gradWeight"), ("aclnnConvolutionBackward", "gradBias"),
    ("aclnnThnnFusedLstmCellBackward", "gradBiasOut"), ("aclnnQuantMatmulV4", "offset"), ("aclnnQuantMatmulV4", "bias"),
    ("aclnnTransQuantParamV2", "offset"), ("aclnnApplyTopKTopP", "p"), ("aclnnApplyTopKTopP", "k"),
}

# Where the documentation as read contradicts what torch_npu passes in basic use, the client is right.
_OVERRIDES = {
    ("aclnnMinDim", "indices"): {"dtypes": frozenset({"INT32", "INT64"})},  # as aclnnMaxDim
    ("aclnnInplacePowTensorScalar", "self"): {"role": "inout"},             # listed as an input only
    ("aclnnInplaceHardsigmoid", "self"): {"role": "inout"},
    ("aclnnInplaceHardswish", "self"): {"role": "inout"},
    ("aclnnSlogdet", "self"): {"ranks": (0, MAX_RANK)},                      # a batch, as aclnnLogdet
    # An empty tensor of torch's default type stands for a dimension without index; kernels check the others.
    ("aclnnIndex", "indices"): {"dtypes": frozenset({"INT32", "INT64", "BOOL", "UINT8", "FLOAT"})},
    ("aclnnIndexPutImpl", "indices"): {"dtypes": frozenset({"INT32", "INT64", "BOOL", "UINT8", "FLOAT"})},
    ("aclnnIndexCopy", "selfRef"): {"role": "in"},                          # outRef is what it writes
    ("aclnnBatchNorm", "runningMean"): {"role": "inout"},                    # listed as outputs only
    ("aclnnBatchNorm", "runningVar"): {"role": "inout"},
    ("aclnnInplaceUniformTensor", "seedTensor"): {"dtypes": frozenset({"INT64", "UINT64"})},  # as the other forms'
    ("aclnnInplaceUniformTensor", "offsetTensor"): {"dtypes": frozenset({"INT64", "UINT64"})},
    ("aclnnRReluWithNoise", "noise"): {"role": "inout"},                     # listed as inputs only
    ("aclnnInplaceRReluWithNoise", "self"): {"role": "inout"},
    ("aclnnInplaceRReluWithNoise", "noise"): {"role": "inout"},
    ("aclnnAmpUpdateScale", "currentScale"): {"ranks": (0, 1)},              # torch's scaler has 0-d tensors
    ("aclnnAmpUpdateScale", "growthTracker"): {"ranks": (0, 1)},
    ("aclnnAmpUpdateScale", "foundInf"): {"ranks": (0, 1)},
    ("aclnnAmpUpdateScale", "updatedScale"): {"ranks": (0, 1)},
    ("aclnnAmpUpdateScale", "updatedGrowthTracker"): {"ranks": (0, 1)},
}


def kernel_names(folder=KERNELS) -> dict:
    """The operators that the kernel sources register: whether they are elementwise."""
    names = {name: macro in ("ELEMENTWISE", "POINTWISE") for path in sorted(folder.glob("*.cpp"))
             for macro, name in _REGISTRATION.findall(path.read_text("utf-8"))}
    unknown = [name for name in names if name not in operators()]
    if unknown:
        raise ValueError(f"kernels for operators that aclnn_ops.jsonl does not know: {', '.join(unknown)}")
    return names


def _documented(op, parameter):
    """The parameter with the overrides taken in."""
    parameter = replace(parameter, **_OVERRIDES.get((op.name, parameter.name), {}))
    if parameter.kind in ("aclScalar", "aclScalarList") and parameter.dtypes:
        parameter = replace(parameter, dtypes=parameter.dtypes | _CLIENT_SCALARS)
    least, most = parameter.ranks
    if least != most:  # a documented range of ranks admits 0-d tensors too: clients pass them
        parameter = replace(parameter, ranks=(0, min(most, MAX_RANK)))
    return parameter


def _rule(op, parameter, role=None, repeats=-1) -> str:
    parameter = _documented(op, parameter)
    types = sum(1 << _DTYPES[name] for name in parameter.dtypes)
    role = {"in": "kIn", "out": "kOut", "inout": "kInOut"}[role or parameter.role]
    optional = parameter.name.endswith("Optional") or (op.name, parameter.name) in _OPTIONAL
    strided = (op.name, parameter.name) not in _contiguous_only()
    least, most = parameter.ranks
    return (f'    {{"{parameter.name}", {_KINDS.get(parameter.kind, "kValue")}, {role}, {least}, {most}, '
            f'{str(strided).lower()}, {str(optional).lower()}, {repeats}, {types:#x}ull}},')


@functools.cache
def _contiguous_only() -> frozenset:
    """(operator, parameter) of what is documented to refuse strided views; where nothing is said, they are taken."""
    rows = map(json.loads, TABLE.read_text(encoding="utf-8").splitlines())
    listed = {(row["name"], parameter["name"]) for row in rows for parameter in row["params"]
              if parameter.get("noncontiguous_ok") is False}
    return frozenset(listed | {("aclnnNonzeroV2", "out")})  # dense in the shape that the kernel finds


def plain_form(op):
    """The operator that does what the in-place `op` does, with outputs of their own; None where there is none."""
    return operators().get(op.name.replace("aclnnInplace", "aclnn")) if op.name.startswith("aclnnInplace") else None


def element_form(op):
    """The operator on single tensors that `op` applies to lists of them; None where there is none."""
    found = re.fullmatch(r"aclnnForeach(\w+?)(?:List)?(?:V2)?", op.name)
    plain = operators().get(f"aclnn{found[1]}") if found else None
    kinds = [parameter.kind.removesuffix("List") for parameter in op.parameters]
    return plain if plain and kinds == [parameter.kind for parameter in plain.parameters] else None


def plain_arguments(op, plain) -> list:
    """The parameters of the in-place operator `op` that stand for those of its plain form, in that one's order.

    What `op` writes in place is an input and, by its position among what is written, an output that `op` has not by
    name. None stands for the data type of the result, which is then that of the first parameter.
    """
    outputs = [parameter.name for parameter in plain.parameters if parameter.role == "out"]
    by_name = {parameter.name: parameter for parameter in op.parameters if parameter.name in outputs}
    inputs = iter([parameter for parameter in op.parameters if parameter.name not in by_name])
    written = iter([parameter for parameter in op.parameters if _documented(op, parameter).role == "inout"])
    types_given = any(parameter.kind == "aclDataType" for parameter in op.parameters)
    arguments = []
    for parameter in plain.parameters:
        if parameter.role == "out":
            argument = by_name.get(parameter.name) or next(written)
        elif parameter.kind == "aclDataType" and not types_given:
            argument = None
        else:
            argument = next(inputs)
        if argument and argument.kind != parameter.kind:
            raise ValueError(f"{op.name}: {argument.name} cannot stand for {parameter.name} of {plain.name}")
        arguments.append(argument)
    return arguments


def _arguments(op, plain) -> list:
    return plain_arguments(op, plain) if plain else op.parameters


def _rule_of(op, plain=None, element=None) -> tuple:
    """The declarations before the table of rules, and the operator's entry. Its kernel is its own, that of its plain
    form, or that of its operator on one element."""
    body = plain or op
    arguments = _arguments(op, plain)
    rules = "\n".join(_rule(op, argument or parameter, parameter.role if plain else None,
                            arguments.index(argument) if argument and argument in arguments[:i] else -1)
                      for i, (argument, parameter) in enumerate(zip(arguments, body.parameters, strict=True)))
    on_lists = element and f"static const OpBody body_{op.name} = {{prepareForeachOf, &body_{element.name}, 0}};\n"
    before = f"""extern const OpBody body_{(element or body).name};
{on_lists or ''}static constexpr ParameterRule parameters_{op.name}[] = {{
{rules}
}};
"""
    return before, f'    {{"{op.name}", parameters_{op.name}, {len(arguments)}, &body_{body.name}}},\n'


def _export(op, number, plain=None) -> str:
    """Both phases of the operator whose rule has this number."""
    arguments = _arguments(op, plain)
    parameters = ", ".join(parameter.declaration for parameter in op.parameters)
    names = ", ".join(argument.name if argument else f"sim::typeOf({op.parameters[0].name})" for argument in arguments)
    return f"""
extern "C" SIM_API aclnnStatus {op.name}GetWorkspaceSize(
    {parameters}, uint64_t *workspaceSize, aclOpExecutor **executor) {{
  const sim::Argument arguments[] = {{{names}}};
  return sim::runPhase1(sim::kRules[{number}], arguments, workspaceSize, executor);
}}
extern "C" SIM_API aclnnStatus {op.name}(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {{
  return sim::runPhase2(sim::kRules[{number}], workspace, workspaceSize, executor, stream);
}}"""


def runnable() -> dict:
    """The operators that the simulator runs: name -> (plain form whose kernel it has, operator on one list element)."""
    kernels = kernel_names()
    found = {}
    for op in operators().values():
        if op.name in kernels:
            found[op.name] = None, None
            continue
        plain, element = plain_form(op), element_form(op)
        element = element if element and kernels.get(element.name) else None
        if (plain and plain.name in kernels) or element:
            found[op.name] = plain, element
    return found


def render_rules() -> str:
    bodies = runnable()
    parts = [_rule_of(operators()[name], *bodies[name]) for name in sorted(bodies)]
    return (f"namespace sim {{\n{''.join(before for before, _ in parts)}"
            f"const OpRule kRules[] = {{\n{''.join(entry for _, entry in parts)}}};\n"
            f"const uint32_t kRuleCount = {len(parts)};\n}}\n")


def render_exports() -> str:
    bodies = runnable()
    numbers = {name: number for number, name in enumerate(sorted(bodies))}
    parts = [_export(op, numbers[op.name], bodies[op.name][0]) if op.name in bodies else f"SIM_NO_KERNEL({op.name})"
             for op in operators().values()]
    return "\n".join(parts) + "\n"


def main(argv):
    folder = Path(argv[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("opapi_rules.inc", render_rules()), ("opapi_exports.inc", render_exports())):
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:  # an unchanged file keeps its time: no rebuild
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
