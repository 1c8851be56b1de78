"""Functions that make tensors of random numbers: new tensors, filled by the ops of random.toml."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core._gen.calls cimport op_normal_, op_random__from, op_uniform_
from mindtorch._core.arguments cimport no_combination, parse_ints, require_int
from mindtorch._core.dispatch cimport finish
from mindtorch._core.dtype cimport KIND, default_dtype
from mindtorch._core.factories cimport Request, dtype_for, leaf, make, make_like, read_place, read_size
from mindtorch._core.generator cimport generator_for, require_generator
from mindtorch._core.operator cimport Argument, Operator, find_operator, require_kernel, run_kernel
from mindtorch._core.scalar cimport INT_KIND, Bool, Byte, Char, Int, Long, ScalarType, Short, UInt16, UInt32
from mindtorch._core.tensor cimport Shape, TensorBase
from mindtorch._core.sampling cimport not_implemented

cdef Operator RANDPERM = find_operator("randperm.generator")


cdef TensorBase sized(tuple args, object size, object out, object dtype, object layout, object device,
                      object pin_memory, const char *function):
    cdef Shape shape
    cdef Request request
    read_size(args, size, &shape, function)
    read_place(&request, layout, device, pin_memory, function)
    return make(&request, &shape, dtype_for(dtype, out, default_dtype(), function), out, device)


def rand(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False):
    """Numbers evenly from [0, 1): rand(2, 3) or rand((2, 3))."""
    made = sized(args, size, out, dtype, layout, device, pin_memory, b"rand")
    return leaf(op_uniform_(made, 0, 1, require_generator(generator, b"rand", b"generator")), requires_grad)


def randn(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False):
    """Normal numbers of mean 0 and deviation 1: randn(2, 3) or randn((2, 3))."""
    made = sized(args, size, out, dtype, layout, device, pin_memory, b"randn")
    return leaf(op_normal_(made, 0, 1, require_generator(generator, b"randn", b"generator")), requires_grad)


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """Numbers evenly from [0, 1); shape, dtype and device of `input` unless given."""
    made = make_like(input, dtype, layout, device, pin_memory, b"rand_like")
    return leaf(op_uniform_(made, 0, 1, require_generator(generator, b"rand_like", b"generator")), requires_grad)


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Normal numbers; shape, dtype and device of `input` unless given."""
    made = make_like(input, dtype, layout, device, pin_memory, b"randn_like")
    return leaf(op_normal_(made, 0, 1, require_generator(generator, b"randn_like", b"generator")), requires_grad)


# --- integers ------------------------------------------------------------------------------------------------------

cdef TensorBase fill_integers(TensorBase made, object low, object high, object generator, const char *function):
    cdef Shape end
    end.ndim = 1
    end.sizes[0] = require_int(high, function, b"high", 2 if low is not None else 1)
    return op_random__from(made, 0 if low is None else require_int(low, function, b"low", 1), &end,
                           require_generator(generator, function, b"generator"))


cdef tuple bounds(tuple args, object low, object high, object last, const char *function, str signatures):
    """(low or None, high, last) of f(high, last) and f(low, high, last), whichever are given by name."""
    values = list(args)
    if last is None and values:
        last = values.pop()
    if high is None and values:
        high = values.pop()
    if low is None and values:
        low = values.pop()
    if values or high is None or last is None:
        no_combination(function, args, {"low": low, "high": high} if not args else {}, signatures)
    return low, high, last


SIZED = (" * (int high, tuple of ints size, *, torch.Generator generator = None, Tensor out = None)\n"
         " * (int low, int high, tuple of ints size, *, torch.Generator generator = None, Tensor out = None)\n")


def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False):
    """Integers evenly from [low, high), low being 0 unless given: randint(high, size) or randint(low, high, size)."""
    cdef Shape shape
    cdef Request request
    cdef int position = 3 if len(args) > 2 else 2
    low, high, size = bounds(args, low, high, size, b"randint", SIZED)
    require_int(high, b"randint", b"high", 1 if low is None else 2)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"randint(): argument 'size' (position {position}) must be tuple of ints, "
                        f"not {type(size).__name__}")
    parse_ints(size, &shape, b"randint", b"size", position)
    read_place(&request, layout, device, pin_memory, b"randint")
    made = make(&request, &shape, dtype_for(dtype, out, Long, b"randint"), out, device)
    return leaf(fill_integers(made, low, high, generator, b"randint"), requires_grad)


def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None,
                 requires_grad=False, pin_memory=False, memory_format=None):
    """Integers evenly from [low, high); shape, dtype and device of `input`: randint_like(input, high)."""
    given_args = (*args, input)
    low, high, _ = bounds(given_args, low, high, None, b"randint_like",
                          " * (Tensor input, int high)\n * (Tensor input, int low, int high)\n")
    made = make_like(input, dtype, layout, device, pin_memory, b"randint_like")
    return leaf(fill_integers(made, low, high, generator, b"randint_like"), requires_grad)


cdef int check_holds(int64_t n, ScalarType dtype) except -1:
    names = {<int>Byte: ("uint8_t", 255), <int>Char: ("int8_t", 127), <int>Short: ("int16_t", 32767),
             <int>Int: ("int", 2147483647), <int>UInt16: ("uint16_t", 65535), <int>UInt32: ("uint32_t", 4294967295)}
    name, most = names.get(<int>dtype, ("", n))
    if n > most:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return 0


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """The integers from 0 to n - 1 in random order."""
    cdef Shape shape
    cdef Request request
    cdef TensorBase made
    cdef Argument arguments[2]
    shape.ndim = 1
    shape.sizes[0] = require_int(n, b"randperm", b"n", 1)
    cdef ScalarType code = dtype_for(dtype, out, Long, b"randperm")
    if code == Bool or KIND[<int>code] > INT_KIND + 1:
        not_implemented("randperm", code)
    check_holds(shape.sizes[0], code)
    read_place(&request, layout, device, pin_memory, b"randperm")
    made = make(&request, &shape, code, out, device)
    require_kernel(RANDPERM, made.device_type, code)
    source = generator_for(require_generator(generator, b"randperm", b"generator"), made.device_type, made.device_index)
    if made.numel:
        arguments[0].object = <PyObject *>source
        arguments[1].object = <PyObject *>made
        run_kernel(RANDPERM, made.device_type, arguments, code)
    return leaf(finish(made, out), requires_grad)


FUNCTIONS = {f.__name__: f for f in (rand, randn, rand_like, randn_like, randint, randint_like, randperm)}
