"""Named results of operators with several outputs, as torch.return_types has them."""
from collections import namedtuple


def _result(name, *fields):
    base = namedtuple(name, fields)

    def __repr__(self):
        shown = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{shown})"
    return type(name, (base,), {"__slots__": (), "__repr__": __repr__, "__module__": __name__})


max = _result("max", "values", "indices")
min = _result("min", "values", "indices")
