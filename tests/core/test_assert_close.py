"""mindtorch.testing.assert_close: what torch's refuses is refused, in the same words."""
import math

import numpy as np
import pytest
import torch

import mindtorch

CASES = [
    lambda lib: ((lib.tensor([1., 2, 3]), lib.tensor([1., 2, 4])), {}),
    lambda lib: ((lib.tensor([1., 2, 3]), lib.tensor([1., 2, 3])), {}),
    lambda lib: ((lib.tensor([[1, 2], [3, 4]]), lib.tensor([[1, 2], [3, 9]])), {}),
    lambda lib: ((lib.tensor(1.), lib.tensor(2.)), {}),
    lambda lib: ((1., 2.), {}),
    lambda lib: ((1, 2.), {}),
    lambda lib: (([1., 2], [1., 3]), {}),
    lambda lib: (({"a": lib.tensor([1.])}, {"a": lib.tensor([2.])}), {}),
    lambda lib: (({"a": 1}, {"b": 1}), {}),
    lambda lib: (([1], [1, 2]), {}),
    lambda lib: ((lib.tensor([1.]), lib.tensor([1.], dtype=lib.float64)), {}),
    lambda lib: ((lib.tensor([1.]), lib.tensor([1.], dtype=lib.float64)), {"check_dtype": False}),
    lambda lib: ((lib.tensor([1.]), lib.tensor([1., 2])), {}),
    lambda lib: ((lib.tensor([math.nan]), lib.tensor([math.nan])), {}),
    lambda lib: ((lib.tensor([math.nan]), lib.tensor([math.nan])), {"equal_nan": True}),
    lambda lib: ((lib.tensor([1.]), lib.tensor([2.])), {"rtol": 1e-3}),
    lambda lib: ((lib.tensor([1.]), lib.tensor([1.125])), {"rtol": 0, "atol": 0}),
    lambda lib: ((lib.tensor([0., 1]), lib.tensor([1., 0])), {"msg": "mine"}),
    lambda lib: ((lib.tensor([0., 1]), lib.tensor([1., 0])), {"msg": lambda text: text[:7]}),
    lambda lib: ((lib.tensor([True]), lib.tensor([False])), {}),
    lambda lib: ((np.arange(3.), np.arange(3.)), {}),
    lambda lib: ((np.arange(3), np.array([0, 1, 3])), {}),
    lambda lib: (([lib.tensor([1.]), [lib.tensor([2.])]], [lib.tensor([1.]), [lib.tensor([3.])]]), {}),
]
DENSE = [[0.0, 1, 0, 2], [3, 0, 4, 0], [0, 5, 0, 6], [7, 0, 0, 0]]
for layout in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"):
    for place, number in (((0, 1), 9.0), ((0, 1), 0.0), ((3, 0), 0.0)):
        def changed(lib, layout=layout, place=place, number=number):
            dense, other = lib.tensor(DENSE), lib.tensor(DENSE)
            other[place] = number
            other[1, 1] = float(number == 0)
            blocks = {"blocksize": (1, 1)} if layout.startswith("sparse_b") else {}
            return [x.to_sparse(layout=getattr(lib, layout), **blocks) for x in (dense, other)], {}
        CASES.append(changed)
CASES += [
    lambda lib: ([lib.tensor(DENSE).to_sparse(1), lib.tensor(DENSE).to_sparse(2)], {}),
    lambda lib: (((lib.tensor([1.]),), [lib.tensor([2.])]), {"allow_subclasses": False}),
]


def outcome(lib, case):
    arguments, options = case(lib)
    try:
        return lib.testing.assert_close(*arguments, **options)
    except (AssertionError, TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("case", CASES)
def test_as_torch(case):
    assert outcome(mindtorch, case) == outcome(torch, case)
