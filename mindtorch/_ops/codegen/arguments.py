"""How Cython code fills and reads the union Argument of mindtorch/_core/operators/operator.pxd."""
_MEMBERS = {"const Scalar *": "scalar", "const Shape *": "ints", "int": "integer", "int64_t": "integer",
            "bint": "integer", "ScalarType": "integer", "double": "real", "const double *": "optional_real"}


def member(c_type) -> str:
    return _MEMBERS.get(c_type.strip(), "object")


def packed(c_type, value) -> str:
    """The value that is assigned to the member."""
    return f"<PyObject *>{value}" if member(c_type) == "object" else value


def unpacked(c_type, argument) -> str:
    """The value of an Argument, with its own C type."""
    found, c_type = f"{argument}.{member(c_type)}", c_type.strip()
    return found if member(c_type) in ("scalar", "ints", "real", "optional_real") else f"<{c_type}>{found}"
