"""Modules that hold modules or parameters, in the manner of lists and dictionaries."""
from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Self

from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._tensor.type_info import typename
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """A module with others below it; every module can have those.

    Example:
        >>> box = nn.Container(layer=nn.Linear(1, 1))
        >>> box.layer
        Linear(in_features=1, out_features=1, bias=True)
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
                      "Subclass that instead.", FutureWarning, stacklevel=2)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _NumberedNames(Module):
    """A container whose members have numbers for names: they are no attributes that `dir` should show."""

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _index_(self, index):
        """`index` counted from the front."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return index % len(self)


class _ModuleSequence(_NumberedNames):
    """The common methods of Sequential and ModuleList."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._sliced_(list(self._modules.items())[index])
        return list(self._modules.values())[self._index_(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, list(self._modules)[self._index_(index)], module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[self._index_(index)]]:
            delattr(self, name)
        self._modules = {str(place): module for place, module in enumerate(self)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Tensor) -> Any:
        """Take out the module at an index, or those of a slice."""
        taken = self[key]
        del self[key]
        return taken

    def _insert_(self, index, module):
        for place in range(len(self), index, -1):
            self._modules[str(place)] = self._modules[str(place - 1)]
        self._modules[str(index)] = module


class Sequential(_ModuleSequence):
    """Modules that are called one after the other, each with the result of the one before.

    Example:
        >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))(torch.ones(4, 2)).shape
        torch.Size([4, 1])
    """

    def __init__(self, *args: Module | OrderedDict[str, Module]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(place), module) for place, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Tensor) -> Any:
        """Pass the input through all modules."""
        for module in self:
            input = module(input)
        return input

    def _sliced_(self, items):
        return type(self)(OrderedDict(items))

    def __add__(self, other: Any) -> Sequential:
        _require_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        _require_sequential(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        self._require_factor_(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._require_factor_(other)
        return self.extend(list(self) * (other - 1))

    def _require_factor_(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert_(index + len(self) if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in sequential:
            self.append(module)
        return self


def _require_sequential(other):
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


class ModuleList(_ModuleSequence):
    """A list of modules.

    Arguments:
        modules: the modules

    Example:
        >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _sliced_(self, items):
        return type(self)([module for _, module in items])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        if index < 0:
            raise KeyError(str(index))
        self._insert_(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        lines, first = [], 0
        for text, alike in groupby(map(repr, self)):
            count = len(list(alike))
            place = f"({first}): " if count == 1 else f"({first}-{first + count - 1}): {count} x "
            lines.append("\n  " + (place + text).replace("\n", "\n  "))
            first += count
        return f"{self._get_name()}({''.join(lines)}\n)" if lines else f"{self._get_name()}()"


def _pairs(what, caller, given, sort=False):
    """The (key, value) pairs of a mapping, or of a sequence of pairs; `what` and `caller` are for messages."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{caller}.update should be called with an iterable of key/value pairs, but got "
                        f"{type(given).__name__}")
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        plain = sort and not isinstance(given, (OrderedDict, ParameterDict))
        yield from sorted(given.items()) if plain else list(given.items())
        return
    for number, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{what} update sequence element #{number} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


class _Keyed(Module):
    """A container with keys. Subclasses say in `_entries` which dictionary has these, and read and write one entry."""

    _entries_: Any = None

    def __len__(self) -> int:
        return len(self._entries_)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries_)

    def __contains__(self, key: Tensor) -> bool:
        return key in self._entries_

    def keys(self) -> KeysView[str]:
        """The keys, in the order in which they came."""
        return self._entries_.keys()

    def clear(self) -> None:
        """Take out everything."""
        for key in tuple(self):
            del self[key]

    def pop(self, key: Tensor) -> Any:
        """Remove a key and return its value."""
        taken = self[key]
        del self[key]
        return taken


class ModuleDict(_Keyed):
    """A dictionary of modules; it keeps the order of insertion.

    Arguments:
        modules: the modules by their names, or in a list

    Example:
        >>> layers = nn.ModuleDict({"first": nn.Linear(2, 3), "last": nn.Linear(3, 1)})
        >>> layers["last"].in_features
        3
    """

    _entries_ = property(operator.attrgetter("_modules"))

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._entries_[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._entries_[key]

    def items(self) -> ItemsView[str, Module]:
        """The pairs (key, module)."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add or replace modules, from a mapping or from pairs."""
        for key, module in _pairs("ModuleDict", "ModuleDict", modules):
            self[key] = module


def _as_parameter(value):
    """A tensor becomes a parameter when a container takes it; other objects stay what they are."""
    return Parameter(value) if isinstance(value, TensorBase) and not isinstance(value, Parameter) else value


def _described(entries, kind):
    """One line for each entry of a container of parameters; `kind` says what a tensor's elements are."""
    lines = []
    for name, value in entries:
        if isinstance(value, TensorBase):
            noun = "Parameter" if isinstance(value, Parameter) else "Tensor"
            size = "x".join(map(str, value.shape))
            place = f" ({value.device})" if value.is_npu else ""
            lines.append(f"  ({name}): {noun} containing: [{kind(value)} of size {size}{place}]")
        else:
            lines.append(f"  ({name}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(_NumberedNames):
    """A list of parameters; it may hold other objects too.

    Arguments:
        values: the parameters

    Example:
        >>> numbers = nn.ParameterList([torch.ones(1), torch.zeros(2)])
        >>> len(numbers), numbers[1].shape
        (2, torch.Size([2]))
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[place] for place in range(len(self))[index]])
        return getattr(self, str(self._index_(index)))

    def __setitem__(self, index: Any, param: Any) -> None:
        setattr(self, str(self._index_(index)), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[place] for place in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Tensor) -> Self:
        """Add a parameter at the end."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, TensorBase):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each entry."""
        return _described(enumerate(self), operator.attrgetter("dtype"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(_Keyed):
    """A dictionary of parameters; it may hold other objects too.

    Arguments:
        parameters: the parameters by their names

    Example:
        >>> numbers = nn.ParameterDict({"scale": torch.ones(1)})
        >>> numbers["scale"].requires_grad
        True
    """

    _entries_ = property(operator.attrgetter("_keys"))

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _key_to_attr(key):
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Tensor) -> None:
        setattr(self, self._key_to_attr(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def copy(self) -> ParameterDict:
        """A new dictionary with the same entries."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any | None = None) -> Any:
        """The value of a key, which is set to `default` if missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Take out the entry that came last, with its key."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any | None = None) -> Any:
        """The entry of a key, or `default`."""
        return self[key] if key in self else default       # noqa: SIM401 - this is get

    def fromkeys(self, keys: Iterable[str], default: Any | None = None) -> ParameterDict:
        """A new dictionary with `default` for every key."""
        return ParameterDict([(key, default) for key in keys])

    def items(self) -> Iterable[tuple[str, Any]]:
        """The pairs (key, entry)."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The entries."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Mapping[str, Any] | ParameterDict) -> None:
        """Add or replace entries, from a mapping (a plain one in the order of its keys) or from pairs."""
        for key, value in _pairs("ParameterDict", "ParametersDict", parameters, sort=True):
            self[key] = value

    def extra_repr(self) -> str:
        """A line for each entry."""
        return _described(self.items(), typename)

    def __call__(self, input: Tensor) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
