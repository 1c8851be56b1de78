"""A statement for each row of the op table: its operator, called on the smallest float32 tensors that will do.

Most use the first sample that the tests have for the row, or values that go by the types in its schema. CALLS holds
what both do not suit: overloads that values choose, random operators, indexing, sizes.
"""
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ops"))

from samples import SAMPLES, Description, Make

DTYPES = ("float32", "bool", "int64", "complex64")      # the first that the operator takes

# v: four numbers, m: the same as 2 x 2, p: four probabilities, i: four indices, b: four truth values, z: complex,
# o: one number, k: an int32, s: two numbers on the CPU, r: one number there. For optimizers, l: a list of v and m,
# t: one of v, c: its counter, an element of a tensor. aten: the operators outside torch's namespace.
CALLS = {
    "_to_copy": "v.to(torch.float16)",
    "floor_divide": "torch.floor_divide(v, p)",
    "floor_divide.Scalar": "torch.floor_divide(v, 2)",
    "clamp_min": "torch.clamp_min(v, 1)",
    "clamp_min.Tensor": "torch.clamp_min(v, p)",
    "clamp_max": "torch.clamp_max(v, 1)",
    "clamp_max.Tensor": "torch.clamp_max(v, p)",
    "where.ScalarSelf": "torch.where(b, 1.0, v)",
    "where.ScalarOther": "torch.where(b, v, 1.0)",
    "where.Scalar": "torch.where(b, 1.0, 0.0)",
    "sum": "v.sum()",
    "mean": "v.mean()",
    "max.other": "torch.max(v, p)",
    "min.other": "torch.min(v, p)",
    "all.dim": "torch.all(m, 1)",
    "all": "torch.all(m)",
    "any.dim": "torch.any(m, 1)",
    "any": "torch.any(m)",
    "linear": "torch.nn.functional.linear(m, m, m[0])",
    "ger": "torch.ger(v, v)",
    "cholesky": "torch.cholesky(m)",
    "searchsorted.Scalar": "torch.searchsorted(v, 1.0)",
    "bitwise_left_shift.Tensor_Scalar": "i << 1",
    "bitwise_left_shift.Scalar_Tensor": "1 << i",
    "bitwise_right_shift.Tensor_Scalar": "i >> 1",
    "bitwise_right_shift.Scalar_Tensor": "1 >> i",
    "index.Tensor": "v[i]",
    "_slice": "v[1:3]",
    "_basic_index": "m[1:, None]",
    "diagonal": "m.diagonal()",
    "unbind.int": "m.unbind()",
    "split.Tensor": "v.split(2)",
    "view_as_real": "torch.view_as_real(z)",
    "view_as_complex": "torch.view_as_complex(m)",
    "uniform_": "v.uniform_()",
    "normal_": "v.normal_()",
    "bernoulli_.float": "v.bernoulli_(0.5)",
    "bernoulli_.Tensor": "v.bernoulli_(p)",
    "bernoulli": "torch.bernoulli(p)",
    "random_.from": "v.random_(0, 5)",
    "random_": "v.random_()",
    "exponential_": "v.exponential_()",
    "geometric_": "v.geometric_(0.5)",
    "cauchy_": "v.cauchy_()",
    "log_normal_": "v.log_normal_()",
    "multinomial": "torch.multinomial(p, 2)",
    "_dropout_mask": "aten._dropout_mask(v, 0.5)",
    "_rrelu": "aten._rrelu(v, p, 0.1, 0.3)",
    "poisson": "torch.poisson(p)",
    "_standard_gamma": "torch._standard_gamma(p)",
    "_sample_dirichlet": "torch._sample_dirichlet(p)",
    "binomial": "torch.binomial(p, p)",
    "randperm.generator": "torch.randperm(4, device='npu')",
    "nonzero": "torch.nonzero(b)",
    "npu_dynamic_quant": "aten.npu_dynamic_quant(h)",
    "_npu_quant_matmul": "aten._npu_quant_matmul(m8, m8, v[:2], None, None, None, torch.float16)",
    "_npu_weight_quant_batchmatmul": "aten._npu_weight_quant_batchmatmul(h, m8, h[0], None, None)",
    "_foreach_mm": "torch._foreach_mm([m, m], [m, m])",
}
CALLS |= {f"_foreach_{op}.Tensor": f"torch._foreach_{op}([v, m], o)" for op in ("add", "mul", "div")}
CALLS |= {f"_foreach_{op}.Tensor": f"torch._foreach_{op}([v, m], [v, m], [v, m], s)" for op in ("addcdiv", "addcmul")}
# On a list of one tensor: aclnnApplyAdamWV2 takes no lists, so each further tensor is a launch more.
_ADAM = "t, t, t, t, [], c, beta1=0.9, beta2=0.9, eps=0.1, amsgrad=False"
_SGD = "l, l, l, momentum=0.9, dampening=0, nesterov=False, is_first_step=False"
for _name, _arguments in (("adam", _ADAM), ("adamw", _ADAM), ("sgd", _SGD)):
    for _overload, _rate in (("", 0.1), (".tensor_lr", "r")):
        CALLS[f"_fused_{_name}_{_overload}"] = (f"torch._fused_{_name}_({_arguments}, lr={_rate}, weight_decay=0, "
                                                "maximize=False)")
CALLS["_amp_foreach_non_finite_check_and_unscale_"] = "torch._amp_foreach_non_finite_check_and_unscale_(l, o, o)"
CALLS["_amp_update_scale_"] = "torch._amp_update_scale_(o, k, o, 2.0, 0.5, 10)"


class Statements:
    """Makes the operands, in `torch` on the NPU; `aten` has the operators outside its namespace by name."""

    def __init__(self, torch, aten):
        self.torch, self.aten = torch, aten
        vector = torch.tensor([1.0, -2.0, 3.0, -4.0], device="npu")
        matrix = vector.reshape(2, 2)
        self.operands = {"torch": torch, "aten": SimpleNamespace(**aten), "v": vector, "m": matrix,
                         "z": matrix.to(torch.complex64), "h": matrix.to(torch.float16), "m8": matrix.to(torch.int8),
                         "p": torch.tensor([0.5, 0.25, 0.75, 1.0], device="npu"),
                         "i": torch.tensor([0, 1, 2, 3], device="npu"),
                         "b": torch.tensor([True, False, True, False], device="npu"),
                         "o": torch.tensor(1.0, device="npu"), "k": torch.tensor(1, dtype=torch.int32, device="npu"),
                         "s": torch.tensor([1.0, 2.0]),
                         "r": torch.tensor(0.1), "l": [vector, matrix], "t": [vector],
                         "c": list(torch.tensor([1.0], device="npu").unbind())}
        changeable = [vector, *(self.operands[name] for name in "zpibok"), *self.operands["c"]]
        self._kept = [(tensor, tensor.clone()) for tensor in changeable]

    def restore(self):
        """Gives the operands the numbers back that operators in place have changed."""
        for tensor, kept in self._kept:
            tensor.copy_(kept)

    def of(self, row):
        """(statement, its names) to try in turn: samples hold what an operator must refuse, too."""
        if row.key in CALLS:
            yield CALLS[row.key], self.operands
        elif not row.samples:
            yield from self._by_types(row)
        elif row.samples in SAMPLES:
            for dtype in DTYPES:
                for args, kwargs in SAMPLES[row.samples](Make(dtype, seed=row.key)):
                    tensors = list(descriptions([*args, *kwargs.values()]))
                    if all(t.values for t in tensors) and (not tensors or tensors[0].shape):
                        yield self._statement(row, args, kwargs)

    def _by_types(self, row):
        for tensor in ("p", "i"):
            values = {"Tensor": self.operands[tensor], "Scalar": 2, "int": 1, "bool": False, "float": 0.1}
            values |= {f"{name}[]": [value, value] for name, value in values.items()}
            needed = [argument for argument in row.schema.arguments if argument.default is None]
            if all(argument.type in values for argument in needed):
                args = [values[argument.type] for argument in needed if not argument.keyword_only]
                yield self._statement(row, args, {a.name: values[a.type] for a in needed if a.keyword_only})

    def _statement(self, row, args, kwargs):
        args = [self._realised(value) for value in args]
        kwargs = {name: getattr(self.torch, value) if name.endswith("dtype") else self._realised(value)
                  for name, value in kwargs.items()}
        names = {f"x{number}": value for number, value in enumerate(args)}
        if row.factory and not row.schema.arguments[0].is_tensor:
            kwargs["device"] = "npu"
        if row.variants == ("method",):
            call, words = f"x0.{row.schema.name}", list(names)[1:]
        else:
            call, words = "f", list(names)
            names["f"] = self.aten.get(row.schema.name) or getattr(self.torch, row.schema.name)
        words += [f"{name}={name}" for name in kwargs]
        return f"{call}({', '.join(words)})", names | kwargs

    def _realised(self, value):
        if isinstance(value, Description):
            return value.realise(self.torch, "npu")
        return type(value)(self._realised(v) for v in value) if isinstance(value, (list, tuple)) else value


def descriptions(value):
    """All tensors described in nested lists."""
    if isinstance(value, Description):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from descriptions(part)
