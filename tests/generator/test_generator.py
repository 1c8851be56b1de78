"""The generator: what it writes for a few rows, and which wrong rows it refuses."""
from pathlib import Path

import pytest

from mindtorch._ops.codegen import __main__ as generator
from mindtorch._ops.codegen import (
    derivatives,
    emit_compiled,
    emit_cpu,
    emit_decomposition,
    emit_docs,
    emit_functions,
    emit_grad,
    emit_npu,
    emit_python,
    emit_table,
    emit_thunks,
    headers,
    rules,
    schema,
)
from mindtorch._ops.codegen.aclnn import operators
from mindtorch._ops.codegen.aclnn_calls import read_call
from mindtorch._ops.codegen.rows import RowError, Table, instances, read_row

pytestmark = pytest.mark.one_mode

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
TABLE = Table()

ADD = {
    "schema": "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "npu": "aclnnAdd(self, other, alpha, out)",
    "out": {"shape": "broadcast(self, other)", "dtype": "promote(self, other)"},
    "cpu": "np.add(self, np.multiply(other, alpha))",
    "grad": {"self": "grad", "other": "grad * alpha"},
    "samples": "binary_alpha",
}


def row(**changes):
    return read_row("pointwise", {key: value for key, value in {**ADD, **changes}.items() if value is not None})


# --- schemas -------------------------------------------------------------------------------------------------------

def test_schema_of_every_part():
    parsed = schema.parse("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
                          " -> Tensor")
    assert (parsed.name, parsed.overload, parsed.c_name) == ("sum", "dim_IntList", "sum_dim_IntList")
    assert [a.type for a in parsed.arguments] == ["Tensor", "int[]?", "bool", "ScalarType?"]
    assert [a.default for a in parsed.arguments] == [None, None, "False", "None"]
    assert [a.keyword_only for a in parsed.arguments] == [False, False, False, True]


def test_schema_with_aliases_and_several_results():
    assert schema.parse("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)").arguments[0].written
    parsed = schema.parse("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
    assert parsed.returns == (("Tensor", "values"), ("Tensor", "indices"))


@pytest.mark.parametrize("text", ["add(Tensor self", "add(Tensor) -> Tensor", "add(Gizmo self) -> Tensor", "-> Tensor"])
def test_schema_that_cannot_be_read(text):
    with pytest.raises(schema.SchemaError):
        schema.parse(text)


# --- a row for several operators -------------------------------------------------------------------------------------

def test_a_row_for_several_names_is_a_row_for_each():
    made = instances({"for": {"name": ["cos", "log_sum"], "ufunc": ["cos", "logaddexp"]}, "schema": "{name}(Tensor a)",
                      "npu": "aclnn{Name}(a)", "check": ['f(a, "{name} of {got}")'], "grad": {"a": "{ufunc}(a)"}})
    assert made == [{"schema": f"{name}(Tensor a)", "npu": f"{call}(a)", "check": [f'f(a, "{name} of {{got}}")'],
                     "grad": {"a": f"{ufunc}(a)"}}
                    for name, call, ufunc in (("cos", "aclnnCos", "cos"), ("log_sum", "aclnnLogSum", "logaddexp"))]
    assert instances({"schema": "cos(Tensor a)"}) == [{"schema": "cos(Tensor a)"}]


def test_lists_of_different_lengths_are_refused(tmp_path):
    (tmp_path / "foreach.toml").write_text('[[op]]\nfor = { name = ["a", "b"], ufunc = ["c"] }\n', encoding="utf-8")
    with pytest.raises(RowError, match=r"foreach.toml: the lists of the column 'for' differ in length"):
        Table(tmp_path)


# --- refused rows --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("changes", "message"), [
    ({"cpu": None}, "no CPU reference"),
    ({"samples": None}, "no samples"),
    ({"npu": None}, "no npu column"),
    ({"colour": "red"}, "there is no column 'colour', the columns are for, schema, npu, "),
    ({"nocast": ["self"]}, "there is no column 'nocast'; did you mean 'no_cast'?"),
    ({"out": {"shape": "same(self)", "format": "self"}}, "there is no column 'format'; did you mean 'memory_format'?"),
    ({"out": [ADD["out"], ADD["out"]]}, "2 output rules for 1 results"),
    ({"no_cast": ["condition"]}, "no argument 'condition'"),
])
def test_row_with_a_wrong_column(changes, message):
    with pytest.raises(RowError, match=message):
        row(**changes)


@pytest.mark.parametrize(("call", "message"), [
    ("aclnnAdd(self, other, out)", r"aclnnAdd takes 4 arguments \(self, other, alpha, out\), the row gives 3"),
    ("aclnnAdd(self, alpha, other, out)", r"other is a const aclTensor \*, the row gives a const Scalar \*"),
    ("aclnnAdd(self, other, alpha, self)", "out is an output, the row gives 'self'"),
    ("aclnnAdd(out, other, alpha, out)", "self is an input, the row gives the output 'out'"),
    ("aclnnAdd(self, nobody, alpha, out)", "neither argument nor output: 'nobody'"),
    ("aclnnAddition(self, other, alpha, out)", "aclnn_ops.jsonl has no operator 'aclnnAddition'"),
    ("aclnnAdd", "is no call"),
])
def test_call_that_does_not_fit_its_prototype(call, message):
    wrong = row(npu=call)
    with pytest.raises(RowError, match=rf"pointwise.toml: add.Tensor: .*{message}"):
        read_call(wrong, call)


@pytest.mark.parametrize(("columns", "message"), [
    ({"compiled": "double"}, "'double' is none of float, all"),
    ({"compiled": "float", "npu": "view"}, "the npu column is no call that the CPU can make"),
    ({"compiled": "float", "npu": "aclnnAdd(expand_as(self, out), other, alpha, out)"},
     "the CPU has no conversion for the adapter expand_as"),
    ({"compiled": "float", "npu": "aclnnAdd(self, other, alpha, out) if alpha is None else aclnnMul(self, other, out)"},
     "the condition 'alpha is None' does not compare an argument with a constant by =="),
])
def test_compiled_kernel_that_cannot_be_called(columns, message):
    table = one_row_table(row(**columns))
    with pytest.raises(RowError, match=rf"pointwise.toml: add.Tensor: compiled: {message}"):
        emit_compiled.module(table, emit_npu.Calls(table))


@pytest.mark.parametrize(("out", "message"), [
    ({"shape": "broadcats(self, other)", "dtype": "promote(self, other)"}, "unknown rule 'broadcats'"),
    ({"shape": "broadcast(self)", "dtype": "promote(self, other)"}, "broadcast takes 2 arguments, not 1"),
    ({"shape": "broadcast(self, alpha)", "dtype": "promote(self, other)"}, "'alpha' is a const Scalar"),
    ({"shape": "broadcast(self, other)", "dtype": "promote(self, third)"}, "no argument 'third'"),
])
def test_rule_that_does_not_exist(out, message):
    table = one_row_table(row(out=out))
    with pytest.raises(RowError, match=rf"pointwise.toml: add.Tensor: .*{message}"):
        emit_table.entries(table)


def test_two_rules_of_one_name_are_refused(tmp_path, monkeypatch):
    for module in rules.RULE_MODULES:
        path = tmp_path / f"{module.replace('.', '/')}.pxd"
        path.parent.mkdir(exist_ok=True)
        path.write_text("cdef int same(Shape *shape, TensorBase a) except -1\n", encoding="utf-8")
    monkeypatch.setattr(rules, "CORE", tmp_path)
    with pytest.raises(rules.RuleError, match="same is declared twice: in operators_operator and in rules_infer"):
        rules.rules.__wrapped__()


FOREACH = {"schema": "_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
           "npu": "per_tensor"}


def test_list_row_without_its_op(tmp_path):
    text = "".join(f'{name} = "{value}"\n' for name, value in (FOREACH | {"foreach_of": "plus(self, other)"}).items())
    (tmp_path / "foreach.toml").write_text(f"[[op]]\n{text}", encoding="utf-8")
    with pytest.raises(RowError, match=r"foreach.toml: _foreach_add.List: there is no row 'plus'"):
        Table(tmp_path)


@pytest.mark.parametrize("each", ["add.Tensor(self, other, alpha, 1)", "add.Tensor(self, beta=alpha)"])
def test_list_row_with_other_arguments_than_its_op(each):
    wrong = read_row("foreach", FOREACH | {"foreach_of": each})
    with pytest.raises(RowError, match=r"_foreach_add.List: add.Tensor takes \(self, other, alpha\)"):
        emit_table.entries(one_row_table(wrong, row()))


def test_expression_with_an_unknown_name():
    with pytest.raises(RowError, match="'beta' is neither an argument nor a function"):
        emit_cpu.family_py(one_row_table(row(cpu="np.add(self, beta)")), "pointwise")


@pytest.mark.parametrize(("grad", "message"), [
    ({"self": "grad * gamma"}, "'self' uses the unknown name 'gamma'"),
    ({"third": "grad"}, "'third', which is no tensor argument"),
    ({"self": "grad *"}, "is no expression"),
])
def test_derivative_that_cannot_be_built(grad, message):
    with pytest.raises(derivatives.DerivativeError, match=message):
        derivatives.check_functions(row(grad=grad).schema, grad, ["mul"])


def test_decomposition_is_a_function():
    one = row(npu="decomposition: copysign_by_signbit(self, mul(other, alpha))")
    text = emit_decomposition.module(one_row_table(one))
    assert ("def add_Tensor(self, other, alpha, out):\n"
            "    return decompositions_pointwise.copysign_by_signbit(self, ops.mul(other, alpha))\n") in text
    assert '"add.Tensor": (add_Tensor, "computed computed scalar object", 1)' in text


def test_decomposition_that_draws_writes_to_self():
    text = emit_decomposition.module(one_row_table(TABLE.by_key["exponential_"]))
    assert '"exponential_": (exponential__graph_capture, "computed float object", 0)' in text


def test_numbers_that_a_decomposition_reads_stay_on_the_host():
    chebyshev, = [f for f in emit_python.functions(TABLE, "polynomials") if f.name == "special_chebyshev_polynomial_t"]
    assert "promoted_host_scalar" in emit_functions._specification(chebyshev, TABLE)


@pytest.mark.parametrize(("key", "column", "value"), [
    ("isclose", "fallback", 0x478088ff), ("_eye_", "fallback", 0x887f), ("add.Tensor", "fallback", None),
    ("bernoulli_.float", "in_graph", None), ("_foreach_mul.List", "list_dtypes", 0x806f),
])
def test_columns_beside_the_call(key, column, value):
    """For other dtypes than those of `fallback`, and for toolkits that lack the operator, a decomposition runs."""
    assert emit_npu.Calls(one_row_table(TABLE.by_key[key])).entries[key].get(column) == value


def test_adapters_and_conditions_are_functions():
    calls = emit_npu.Calls(one_row_table(TABLE.by_key["clamp.Tensor"], TABLE.by_key["sum.dim_IntList"]))
    text = emit_thunks.module(calls)
    assert ("cdef object adapt_dims_or_all(Argument *values, Argument *result, Storage *storage):\n"
            "    result.ints = dims_or_all(&storage.shape, values[0].ints, <TensorBase>values[1].object)\n") in text
    assert ("cdef int condition_clamp_Tensor_0(Argument *arguments) except -1:\n"
            "    return (<TensorBase>arguments[1].object) is None\n") in text


def test_one_function_calls_all_operators_of_one_signature():
    rows = [TABLE.by_key[key] for key in ("add.Tensor", "sub.Tensor", "mul.Tensor", "gelu")]
    calls = emit_npu.Calls(one_row_table(*rows))
    numbers = {key: entry["call"][2] for key, entry in calls.entries.items()}
    assert numbers["add.Tensor"] == numbers["sub.Tensor"] != numbers["mul.Tensor"]
    text = emit_thunks.module(calls)
    assert ("  return ((signature_0)function)(values[0].pointer, values[1].pointer, values[2].pointer, "
            "values[3].pointer, size, executor);") in text


def test_derivative_tells_what_is_saved():
    power = TABLE.by_key["pow.Scalar"]
    assert names(derivatives.saved(power.schema, power.grad["exponent"])) == ["self", "exponent", "result"]
    add = TABLE.by_key["add.Tensor"].schema
    assert names(derivatives.saved(add, "grad * alpha")) == ["alpha"]
    assert names(derivatives.saved(add, "grad.expand(self.shape)")) == ["self_shape"]
    assert names(derivatives.saved(add, "grad.expand(self.shape) * self")) == ["self", "self_shape"]


def names(saved):
    return [one.name for one in saved]


def test_message_names_file_and_op(tmp_path):
    text = '[[op]]\nschema = "sin(Tensor self) -> Tensor"\nnpu = "aclnnSin(self, out)"\n'
    (tmp_path / "pointwise.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RowError, match=r"pointwise.toml: sin: has no CPU reference"):
        Table(tmp_path)


@pytest.mark.parametrize(("text", "message"), [
    ('[cpu]\nfp16 = ["mm"]\n', "autocast.toml: 'fp16' of 'cpu' is none of not_listed, lower_precision_fp"),
    ('[cpu]\nfp32 = ["mm"]\npromote = ["mm"]\n', "autocast.toml: mm is in two lists of 'cpu'"),
])
def test_lists_of_autocast_that_are_wrong(tmp_path, text, message):
    (tmp_path / "autocast.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RowError, match=message):
        Table(tmp_path)


def one_row_table(*rows):
    table = Table.__new__(Table)
    table.rows, table.aliases, table.inplace_functions = list(rows), {}, set()
    table.by_key = {one.key: one for one in rows}
    return table


# --- what is written -----------------------------------------------------------------------------------------------

GOLDEN_ROWS = ("add.Tensor", "sum.dim_IntList", "max.dim", "mm", "fill_.Scalar", "clamp.Tensor", "_foreach_add.List",
               "_foreach_mul.ScalarList", "_fused_adamw_")


def rendered(key):
    """All that a row becomes: entries of tables, CPU function, what its node computes, Python functions."""
    one = TABLE.by_key[key]
    alone = one_row_table(*[TABLE.by_key[k] for k in dict.fromkeys((key, one.foreach_of, one.scalar_variant)) if k])
    entries, _ = emit_table.entries(alone)
    parts = [emit_table.module({key: entries[key]}), emit_npu.Calls(one_row_table(one)).module()]
    if emit_grad.recorded(one):
        parts += [f"{emit_grad.node(one)}\n", emit_grad.backward(one)]
    parts += [emit_cpu._function(one)] if one.has_kernel else []
    made = [f for f in emit_python.functions(TABLE, one.family) if one in f.rows]
    parts += [f"{f.name}: {emit_functions._specification(f, TABLE)}\n" for f in made]
    return "\n\n".join(parts)


@pytest.mark.parametrize("key", GOLDEN_ROWS)
def test_golden(key):
    """Committed, so that a change of the generator shows in review; running this file renews them."""
    assert rendered(key) == (GOLDEN / f"{key}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["ops.md", "rows.md", "rules.md"])
def test_generated_page_is_current(name):
    """These are committed, since other pages lead to them."""
    page = ROOT / "docs" / name
    assert page.read_text(encoding="utf-8") == generator.outputs(TABLE)[page], f"docs/{name}: build, and commit it"


def test_a_rule_without_a_docstring_is_refused():
    with pytest.raises(rules.RuleError, match="rules without a docstring: size_text"):
        emit_docs.rules_md({"size_text": {"add.Tensor": True}})


def test_every_known_operator_is_declared_under_its_vendor_header():
    files = {path.name: text for path, text in headers.files().items()}
    assert all(files[op.header].count(f" {op.name}GetWorkspaceSize(") == 1 for op in operators().values())
    assert files["aclnn_add.h"].startswith("/* aclnnAdd, aclnnAdds, aclnnInplaceAdd, aclnnInplaceAdds, under")


def test_writing_leaves_unchanged_files_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(generator, "FOLDERS", (tmp_path / "core", tmp_path / "include"))
    path = tmp_path / "core" / "a.pyx"
    generator.write({path: "text"})
    before = path.stat().st_mtime_ns
    gone = [tmp_path / "core" / "gone.pyx", tmp_path / "include" / "gone.h"]
    for old in gone:
        old.write_text("", encoding="utf-8")
    generator.write({path: "text"})
    assert path.stat().st_mtime_ns == before
    assert not any(old.exists() for old in gone)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for row_key in GOLDEN_ROWS:
        (GOLDEN / f"{row_key}.txt").write_text(rendered(row_key), encoding="utf-8")
