"""Named results of operators with several outputs, as torch.return_types has them: made from sequences."""
from operator import itemgetter as _itemgetter


def _result(name, *fields):
    count = len(fields)

    def __new__(cls, sequence):
        values = tuple(sequence)
        if len(values) != count:
            raise TypeError(f"torch.return_types.{name}() takes a {count}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    def __repr__(self):
        shown = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{shown})"

    members = {field: property(_itemgetter(place)) for place, field in enumerate(fields)}
    return type(name, (tuple,), {"__slots__": (), "__new__": __new__, "__repr__": __repr__, "__module__": __name__,
                                 "__match_args__": fields, "n_fields": count, "n_sequence_fields": count,
                                 "n_unnamed_fields": 0, **members})


max = _result("max", "values", "indices")
min = _result("min", "values", "indices")

geqrf = _result("geqrf", "a", "tau")
linalg_cholesky_ex = _result("linalg_cholesky_ex", "L", "info")
linalg_eig = _result("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _result("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _result("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _result("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _result("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _result("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _result("linalg_lu", "P", "L", "U")
linalg_lu_factor = _result("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _result("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _result("linalg_qr", "Q", "R")
linalg_slogdet = _result("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _result("linalg_solve_ex", "result", "info")
linalg_svd = _result("linalg_svd", "U", "S", "Vh")
_linalg_svd = _result("_linalg_svd", "U", "S", "Vh")
lu_unpack = _result("lu_unpack", "P", "L", "U")
qr = _result("qr", "Q", "R")
slogdet = _result("slogdet", "sign", "logabsdet")
svd = _result("svd", "U", "S", "V")
triangular_solve = _result("triangular_solve", "solution", "cloned_coefficient")
frexp = _result("frexp", "mantissa", "exponent")
aminmax = _result("aminmax", "min", "max")
histogram = _result("histogram", "hist", "bin_edges")
histogramdd = _result("histogramdd", "hist", "bin_edges")
cummax = _result("cummax", "values", "indices")
cummin = _result("cummin", "values", "indices")
kthvalue = _result("kthvalue", "values", "indices")
median = _result("median", "values", "indices")
mode = _result("mode", "values", "indices")
nanmedian = _result("nanmedian", "values", "indices")
sort = _result("sort", "values", "indices")
topk = _result("topk", "values", "indices")

# Results in `out=` are of the same classes; torch has some of these under a name of their own.
_OUT = ("aminmax", "cummax", "cummin", "frexp", "geqrf", "histogram", "kthvalue", "linalg_cholesky_ex", "linalg_eig",
        "linalg_eigh", "linalg_inv_ex", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_lstsq", "linalg_lu",
        "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_svd",
        "lu_unpack", "max", "median", "min", "mode", "nanmedian", "qr", "slogdet", "sort", "svd", "topk",
        "triangular_solve")
all_return_types = [value for name, value in globals().items() if isinstance(value, type) and name[0] != "_"]
globals().update({f"{_name}_out": globals()[_name] for _name in _OUT})
