"""Files that are broken or malicious: each gives an error, and runs nothing."""
import io
import os
import pickle
import struct
import zipfile

import pytest
import torch

import mindtorch
from mindtorch import sim

FOUR = struct.pack("<4f", 1, 2, 3, 4)
TRACE = []


def atom(value):
    """A Python value as opcodes that push it."""
    return pickle.dumps(value, 2)[2:-1]


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def call(function, *args):
    return function + b"(" + b"".join(args) + b"tR"


def storage(kind="FloatStorage", key="0", location="cpu", count=4):
    return b"(" + atom("storage") + name("torch", kind) + atom(key) + atom(location) + atom(count) + b"tQ"


def tensor(offset=0, size=(4,), stride=(1,), grad=False, store=None, metadata=()):
    return call(name("torch._utils", "_rebuild_tensor_v2"), store or storage(), atom(offset), atom(size), atom(stride),
                atom(grad), call(name("collections", "OrderedDict")), *map(atom, metadata))


def checkpoint(opcodes, records=(("data/0", FOUR),), folder="archive", compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr(f"{folder}/data.pkl", b"\x80\x02" + opcodes + b".")
        for record, data in records:
            made.writestr(f"{folder}/{record}", data)
        made.writestr(f"{folder}/version", "3\n")
    return file.getvalue()


def record_called():
    TRACE.append("called")


class Evil:
    """Unpickled without care, it calls record_called."""

    def __reduce__(self):
        return record_called, ()


ORDERED = name("collections", "OrderedDict")
DEEP = b"\x85" * 200000
# A tuple, and a frozenset, that hold an object twice, which does so again, and so on: small files, endless work.
SHARED = b")" + b"q\x00h\x00\x86" * 60
SHARED_SETS = b")" + b"q\x00(h\x00\x91q\x01h\x01\x86" * 60
ENDLESS = tensor(size=(1 << 40,), stride=(0,))
HERE = __name__
SYSTEM = f"echo hostile > {os.devnull}"
GOOD = checkpoint(tensor())
# what it is -> (opcodes of data.pkl, exception, part of its message)
PICKLES = {
    "os.system": (call(name("os", "system"), atom(SYSTEM)), pickle.UnpicklingError, r"os\.system.* blocked"),
    "posix.system": (call(name("posix", "system"), atom(SYSTEM)), pickle.UnpicklingError, "posix.* blocked"),
    "subprocess": (call(name("subprocess", "call"), atom(["true"])), pickle.UnpicklingError, "subprocess"),
    "eval": (call(name("__builtin__", "eval"), atom("1")), pickle.UnpicklingError, r"builtins\.eval"),
    "getattr": (call(name("builtins", "getattr"), atom(1), atom("real")), pickle.UnpicklingError, "add_safe_globals"),
    "own function": (call(name(HERE, "record_called")), pickle.UnpicklingError, "record_called"),
    "own class": (pickle.dumps(Evil(), 2)[2:-1], pickle.UnpicklingError, "record_called"),
    "dotted name": (name("torch", "Tensor.__init__"), pickle.UnpicklingError, "Unsupported global"),
    "module of torch": (name("torch.serialization", "load"), pickle.UnpicklingError, "torch.serialization.load"),
    "mindtorch's name": (name("mindtorch.serialization", "load"), pickle.UnpicklingError, "Unsupported global"),
    "STACK_GLOBAL": (atom("os") + atom("system") + b"\x93", pickle.UnpicklingError, "os.system"),
    "STACK_GLOBAL of numbers": (atom(1) + atom(2) + b"\x93", pickle.UnpicklingError, "requires str"),
    "INST": (b"(ios\nsystem\n", pickle.UnpicklingError, "Unsupported operand 105"),
    "OBJ": (b"(" + name("collections", "OrderedDict") + b"o", pickle.UnpicklingError, "Unsupported operand 111"),
    "EXT1": (b"\x82\x01", pickle.UnpicklingError, "Unsupported operand"),
    "text PERSID": (b"P0\n", pickle.UnpicklingError, "Unsupported operand"),
    "call of a string": (call(atom("text")), pickle.UnpicklingError, "unrecognized function"),
    "call of a tensor": (tensor() + b")R", pickle.UnpicklingError, "unrecognized function"),
    "call without a tuple": (ORDERED + atom([1]) + b"R", pickle.UnpicklingError, "no tuple"),
    "new object of int": (atom(1) + b")\x81", pickle.UnpicklingError, "unrecognized class"),
    "new tensor": (name("torch", "Tensor") + b")\x81", pickle.UnpicklingError, "unrecognized class"),
    "state of a class": (ORDERED + atom({"update": 1}) + b"b", pickle.UnpicklingError, "Can only build"),
    "state of a function": (name("torch._utils", "_rebuild_tensor_v2") + atom({"__doc__": 1}) + b"b",
                            pickle.UnpicklingError, "Can only build"),
    "state of the Tensor class": (name("torch", "Tensor") + b"N" + atom({"add": 1}) + b"\x86b",
                                  pickle.UnpicklingError, "Can only build"),
    "state that is a list": (tensor() + atom([1]) + b"b", pickle.UnpicklingError, "no dict of names"),
    "items into a function": (ORDERED + atom(1) + atom(2) + b"s", pickle.UnpicklingError, "items are added"),
    "appended to a dict": (b"}" + atom(1) + b"a", pickle.UnpicklingError, "items are added"),
    "unhashable key": (b"}]Ns", pickle.UnpicklingError, "malformed"),
    "odd number of items": (b"}(K\x01u", pickle.UnpicklingError, "malformed"),
    "empty stack": (b"s", pickle.UnpicklingError, "malformed"),
    "no mark": (b"t", pickle.UnpicklingError, "malformed"),
    "mark above the stack": (b"K\x01K\x02(\x86t", pickle.UnpicklingError, "malformed"),
    "deep key": (b"})" + DEEP + b"Ns", pickle.UnpicklingError, "more than 1000 items"),
    "deep item of a set": (b"\x8f()" + DEEP + b"\x90", pickle.UnpicklingError, "more than 1000 items"),
    "deep item of a frozenset": (b"()" + DEEP + b"\x91", pickle.UnpicklingError, "more than 1000 items"),
    "deep item in a call of set": (call(name("builtins", "set"), b"])" + DEEP + b"a"),
                                   pickle.UnpicklingError, "more than 1000 items"),
    "deep key in a call": (call(ORDERED, b"])" + DEEP + b"N\x86a"), pickle.UnpicklingError, "1000 items"),
    "key of shared tuples": (b"}" + SHARED + b"Ns", pickle.UnpicklingError, "more than 1000 items"),
    "key of shared frozensets": (b"}" + SHARED_SETS + b"Ns", pickle.UnpicklingError, "more than 1000 items"),
    "call of shared tuples": (SHARED + b")R", pickle.UnpicklingError, "unrecognized function"),
    "new object of shared tuples": (SHARED + b")\x81", pickle.UnpicklingError, "unrecognized class"),
    "shared persistent id": (SHARED + b"Q", pickle.UnpicklingError, "persistent_load"),
    "storage of shared tuples": (b"(" + atom("storage") + SHARED * 4 + b"tQ", pickle.UnpicklingError, "described"),
    "size of shared tuples": (call(name("torch._utils", "_rebuild_tensor"), storage(), atom(0), SHARED, atom((1,))),
                              RuntimeError, "must be ints, got tuple"),
    "typed tensor of shared tuples": (call(name("torch._tensor", "_rebuild_from_type_v2"), SHARED, SHARED, SHARED,
                                           SHARED), RuntimeError, "not put together"),
    "tensor of nested lists": (call(name("torch", "Tensor"), SHARED), pickle.UnpicklingError, "unrecognized function"),
    "parameter of nested lists": (call(name("torch._utils", "_rebuild_parameter"), SHARED, atom(False), b"N"),
                                  RuntimeError, "put together from a tensor"),
    "set of an endless tensor": (call(name("builtins", "set"), ENDLESS), pickle.UnpicklingError, "with a tensor"),
    "dict of an endless tensor": (call(ORDERED, b"]" + ENDLESS + b"a"), pickle.UnpicklingError, "no pairs"),
    "size of an endless tensor": (call(name("torch", "Size"), ENDLESS), pickle.UnpicklingError, "with a tensor"),
    "endless tensor for a size": (call(name("torch._utils", "_rebuild_tensor"), storage(), atom(0), ENDLESS,
                                       atom((1,))), pickle.UnpicklingError, "malformed"),
    "endless tensor for arguments": (call(name("torch._tensor", "_rebuild_from_type_v2"),
                                          name("torch._utils", "_rebuild_tensor_v2"), name("torch", "Tensor"), ENDLESS,
                                          atom({})), pickle.UnpicklingError, "with a tensor"),
    "endless tensor for attributes": (call(name("torch._utils", "_rebuild_parameter_with_state"), tensor(),
                                           atom(False), b"N", ENDLESS), pickle.UnpicklingError, "no dict of names"),
    "memo that was never set": (b"h\x07", pickle.UnpicklingError, "malformed"),
    "huge memo index": (b"]r\xff\xff\xff\xffj\xfe\xff\xff\xff", pickle.UnpicklingError, "malformed"),
    "huge string": (b"X\xff\xff\xff\xffabc", pickle.UnpicklingError, "malformed"),
    "huge bytes": (b"\x8e" + b"\xff" * 8 + b"abc", pickle.UnpicklingError, "malformed"),
    "huge frame": (b"\x95" + b"\xff" * 8, pickle.UnpicklingError, "malformed"),
    "negative length": (b"\x8b\xff\xff\xff\xff", pickle.UnpicklingError, "malformed"),
    "bad UTF-8": (b"X\x02\x00\x00\x00\xff\xfe", pickle.UnpicklingError, "malformed"),
    "no newline": (b"cos", pickle.UnpicklingError, "malformed"),
    "protocol 9": (b"\x80\x09N", pickle.UnpicklingError, "protocol 9"),
    "huge bytearray": (call(name("__builtin__", "bytearray"), atom(1 << 40)), pickle.UnpicklingError, "bytearray"),
    "codec": (call(name("_codecs", "encode"), atom("x"), atom("zip")), pickle.UnpicklingError, "latin1"),
    "unknown persistent id": (atom("storage") + b"Q", pickle.UnpicklingError, "persistent_load"),
    "storage of no type": (atom(("storage", 1, "0", "cpu", 4)) + b"Q", pickle.UnpicklingError, "described"),
    "negative count": (tensor(store=storage(count=-1)), RuntimeError, "16 bytes in the file"),
    "count beyond the record": (tensor(store=storage(count=5)), RuntimeError, "16 bytes in the file"),
    "count of 2**62": (tensor(store=storage(count=1 << 62)), RuntimeError, "16 bytes in the file"),
    "count that is text": (tensor(store=storage(count="4")), RuntimeError, "16 bytes in the file"),
    "wider dtype": (tensor(store=storage("DoubleStorage")), RuntimeError, "16 bytes in the file"),
    "unknown storage type": (tensor(store=storage("QUInt8Storage")), pickle.UnpicklingError, "QUInt8Storage"),
    "missing record": (tensor(store=storage(key="1")), RuntimeError, "data/1"),
    "key that climbs": (tensor(store=storage(key="../version")), RuntimeError, "not found"),
    "location elsewhere": (tensor(store=storage(location="cuda:0")), RuntimeError, "on a CUDA device but"),
    "location in the air": (tensor(store=storage(location="npu:77")), RuntimeError, "NPU device 77"),
    "size beyond": (tensor(size=(5,)), RuntimeError, "out of bounds"),
    "offset beyond": (tensor(offset=1), RuntimeError, "out of bounds"),
    "stride beyond": (tensor(size=(2,), stride=(4,)), RuntimeError, "out of bounds"),
    "empty tensor beyond": (tensor(offset=9, size=(0,)), RuntimeError, "out of bounds"),
    "negative size": (tensor(size=(-4,)), RuntimeError, "Negative"),
    "negative stride": (tensor(stride=(-1,)), RuntimeError, "Negative"),
    "negative offset": (tensor(offset=-1, size=(1,)), RuntimeError, "Negative"),
    "stride that overflows": (tensor(size=(2,), stride=((1 << 63) - 1,)), RuntimeError, "out of bounds"),
    "extent that overflows": (tensor(size=(1 << 62,), stride=(4,)), RuntimeError, "out of bounds"),
    "numbers of 100 bits": (tensor(size=(1 << 100,)), RuntimeError, "out of bounds"),
    "endless expanded tensor": (tensor(size=(1 << 61, 4), stride=(0, 1)), RuntimeError, "too large"),
    "size of floats": (tensor(size=(4.0,)), RuntimeError, "must be ints"),
    "size that is a number": (tensor(size=4), pickle.UnpicklingError, "malformed"),
    "more strides than sizes": (tensor(stride=(1, 1)), RuntimeError, "mismatch in length"),
    "80 dimensions": (tensor(size=(1,) * 80, stride=(1,) * 80), RuntimeError, "80"),
    "gradient of ints": (tensor(grad=True, store=storage("IntStorage")), RuntimeError, "floating point"),
    "unknown metadata": (tensor(metadata=({"fake": True},)), RuntimeError, "fake"),
    "storage that is a list": (tensor(store=atom([1])), RuntimeError, "from a storage only"),
    "storage that is a matrix": (tensor(store=tensor(size=(2, 2), stride=(2, 1))), RuntimeError, "from a storage only"),
    "class that is no tensor": (call(name("torch._tensor", "_rebuild_from_type_v2"), ORDERED, ORDERED, atom(()),
                                     atom({})), RuntimeError, "not put together"),
}


def damaged(position, content):
    return GOOD[:position] + content + GOOD[position + len(content):]


def with_sizes(size):
    """GOOD, whose directory claims `size` bytes for the storage's record."""
    data = bytearray(GOOD)
    entry = data.rindex(b"archive/data/0") - 46
    data[entry + 20:entry + 28] = struct.pack("<II", size, size)
    return bytes(data)


# what it is -> (the file's bytes, exception, part of its message)
FILES = {
    "nothing": (b"", EOFError, "Ran out of input"),
    "text": (b"hello world", pickle.UnpicklingError, "neither a zip archive"),
    "plain pickle": (pickle.dumps({"a": 1}), RuntimeError, "Invalid magic number"),
    "plain pickle that calls": (pickle.dumps(Evil()), pickle.UnpicklingError, "Unsupported global"),
    "half": (GOOD[:len(GOOD) // 2], RuntimeError, "failed reading zip archive"),
    "without its end": (GOOD[:-30], RuntimeError, "failed reading zip archive"),
    "only the first bytes": (b"PK\x03\x04", RuntimeError, "failed reading zip archive"),
    "no data.pkl": (checkpoint(b"N").replace(b"data.pkl", b"data.pkx"), RuntimeError, "data.pkl"),
    "compressed": (checkpoint(tensor(), (("data/0", bytes(1 << 20)),), compression=zipfile.ZIP_DEFLATED), RuntimeError,
                   "compressed"),
    "flipped byte in a storage": (damaged(GOOD.index(FOUR) + 1, b"\x55"), RuntimeError, "CRC"),
    "record of 4 GB": (with_sizes(0xFFFFFFF0), RuntimeError, "claims"),
    "record beyond the end": (with_sizes(len(GOOD) - 10), RuntimeError, "failed reading"),
    "shorter record": (with_sizes(12), RuntimeError, "CRC"),
    "unknown byte order": (checkpoint(tensor(), (("data/0", FOUR), ("byteorder", b"middle"))), ValueError, "middle"),
    "empty pickle": (checkpoint(b"").replace(b"\x80\x02.", b"\x80\x02\x80"), RuntimeError, "CRC"),
}


def refused(content, error, text, **options):
    before = dict(sim.live_objects())
    TRACE.clear()
    with pytest.raises(error, match=text):
        mindtorch.load(io.BytesIO(content), **options)
    assert not TRACE
    assert dict(sim.live_objects()) == before


@pytest.mark.parametrize("case", PICKLES)
def test_hostile_pickles(case, monkeypatch):
    monkeypatch.setattr(os, "system", TRACE.append)
    opcodes, error, text = PICKLES[case]
    refused(checkpoint(opcodes), error, text)


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("weights_only", [True, False])
def test_broken_files(case, weights_only):
    content, error, text = FILES[case]
    refused(content, error, text, weights_only=weights_only)


@pytest.mark.parametrize("case", ["count beyond the record", "size beyond", "negative stride", "extent that overflows",
                                  "stride that overflows", "missing record"])
def test_what_lies_about_memory_is_refused_with_weights_only_off(case):
    opcodes, error, text = PICKLES[case]
    refused(checkpoint(opcodes), error, text, weights_only=False)


@pytest.mark.parametrize("case", ["half", "record of 4 GB", "record beyond the end", "compressed"])
def test_broken_files_that_are_mapped(case, tmp_path):
    content, error, _ = FILES[case]
    path = tmp_path / "file.pt"
    path.write_bytes(content)
    with pytest.raises(error):
        mindtorch.load(path, mmap=True)


def test_every_truncation_is_an_error():
    for length in range(0, len(GOOD), 7):
        with pytest.raises((RuntimeError, EOFError)):
            mindtorch.load(io.BytesIO(GOOD[:length]))


def test_nesting_of_any_depth_is_read_without_recursion():
    read = mindtorch.load(io.BytesIO(checkpoint(b"]" * 100000 + b"a" * 99999)))
    depth = 0
    while read:
        read, depth = read[0], depth + 1
    assert depth == 99999


def test_a_negated_tensor_costs_what_its_storage_has():
    read = mindtorch.load(io.BytesIO(checkpoint(tensor(1, (1 << 40, 2), (0, 1), metadata=({"neg": True},)))))
    assert (read.shape, read.stride(), read[7].tolist()) == ((1 << 40, 2), (0, 1), [-2, -3])


def test_the_file_that_the_broken_ones_are_made_of_is_sound():
    assert mindtorch.load(io.BytesIO(GOOD)).tolist() == torch.load(io.BytesIO(GOOD)).tolist() == [1, 2, 3, 4]
