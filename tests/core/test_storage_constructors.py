"""Constructors of typed storages, what they refuse, and conversions, against torch."""
import pytest
import torch

import mindtorch

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
CALLS = {
    "device": lambda t, s: t.FloatStorage(device="cpu"), "dtype": lambda t, s: t.FloatStorage(dtype=t.float32),
    "keyword": lambda t, s: t.FloatStorage(nothing=1), "two": lambda t, s: t.FloatStorage(0, 0),
    "text": lambda t, s: t.FloatStorage("x"), "tensor": lambda t, s: t.FloatStorage(t.ones(1)),
    "data beside storage": lambda t, s: t.FloatStorage(0, wrap_storage=s.untyped()),
    "typed storage": lambda t, s: t.FloatStorage(wrap_storage=s),
    "untyped": lambda t, s: t.TypedStorage(wrap_storage=s.untyped()),
    "wrong dtype": lambda t, s: t.TypedStorage(wrap_storage=s.untyped(), dtype=0),
    "device beside storage": lambda t, s: t.TypedStorage(wrap_storage=s.untyped(), dtype=t.float32, device="cpu"),
    "fraction": lambda t, s: t.TypedStorage(1.5), "legacy": lambda t, s: t.storage._LegacyStorage(),
    "element size": lambda t, s: t._utils._element_size(3),
    "other dtype": lambda t, s: t.tensor(s, dtype=t.int32),
}
VALUES = {
    "little": lambda t, s: t.ShortStorage.from_buffer(b"12345678", "little").tolist(),
    "big": lambda t, s: t.ShortStorage.from_buffer(b"12345678", "big").tolist(),
    "type": lambda t, s: (s.type(), s.untyped().type()),
    "sizes": lambda t, s: (s._size(), s._nbytes(), s._element_size(), t._utils._element_size(t.complex64)),
    "identity": lambda t, s: s._cdata == s.untyped()._cdata == t._C._storage_address(t.tensor([]).set_(s)),
    "names": lambda t, s: (t.storage._dtype_to_storage_type_map()[t.bool], t.Storage is t.FloatStorage, s.filename),
    "tensor": lambda t, s: (t.tensor(s).tolist(), t.tensor(s.untyped(), dtype=t.int16).tolist()),
}


@pytest.mark.parametrize("name", CALLS)
def test_refusals(name):
    with pytest.raises((RuntimeError, TypeError)) as theirs:
        CALLS[name](torch, torch.FloatStorage([1, 2]))
    with pytest.raises(theirs.type) as ours:
        CALLS[name](mindtorch, mindtorch.FloatStorage([1, 2]))
    assert str(ours.value).replace("mindtorch", "torch") == str(theirs.value)


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    assert VALUES[name](mindtorch, mindtorch.FloatStorage([1, 2])) == VALUES[name](torch, torch.FloatStorage([1, 2]))


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex64", "complex128", "bool"])
def test_byteswap(dtype):
    def swapped(library):
        storage = library.arange(16, dtype=library.uint8).untyped_storage().__copy__()
        storage.byteswap(getattr(library, dtype))
        return storage.tolist()
    assert swapped(mindtorch) == swapped(torch)
