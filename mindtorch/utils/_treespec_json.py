"""The structure of nested containers as JSON: [1, {"type": ..., "context": ..., "children_spec": [...]}]."""
from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from importlib import import_module
from typing import Any

from mindtorch import Size
from mindtorch.utils import _pytree

__all__ = ["dumps", "loads"]

_PROTOCOL = 1
_LEAF = {"type": None, "context": None, "children_spec": []}


def _factory_to_json(context):
    factory, names = context
    return {"default_factory_module": getattr(factory, "__module__", None),
            "default_factory_name": getattr(factory, "__qualname__", None), "dict_context": names}


def _factory_from_json(encoded):
    module, name = encoded["default_factory_module"], encoded["default_factory_name"]
    return [None if module is None else getattr(import_module(module), name), encoded["dict_context"]]


_NAMES = {cls: (name, None, None) for cls, name in {
    tuple: "builtins.tuple", list: "builtins.list", dict: "builtins.dict", OrderedDict: "collections.OrderedDict",
    deque: "collections.deque", Size: "torch.Size"}.items()}
_NAMES[defaultdict] = ("collections.defaultdict", _factory_to_json, _factory_from_json)


def _spec_to_json(spec):
    if spec.type is None:
        return _LEAF
    known = _NAMES.get(spec.type) or _pytree._DUMPED.get(spec.type)
    if known is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your "
                                  "_register_pytree_node call with a `serialized_type_name` kwarg.")
    name, to_json, _ = known
    try:
        context = to_json(spec.context) if to_json else json.dumps(spec.context)
    except TypeError as error:
        raise TypeError("Unable to serialize context. Please make the context json dump-able, or register a custom "
                        "serializer using _register_pytree_node.") from error
    return {"type": name, "context": context, "children_spec": [_spec_to_json(child) for child in spec.children()]}


def _check(protocol):
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")


def dumps(treespec: Any, protocol: Any = None) -> Any:
    """The text for a TreeSpec."""
    if not isinstance(treespec, _pytree.TreeSpec):
        raise TypeError("Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                        f"{type(treespec)}.")
    _check(_PROTOCOL if protocol is None else protocol)
    return json.dumps([_PROTOCOL, _spec_to_json(treespec)])


def _found(encoded):
    if encoded["type"] is None:
        return _pytree.tree_structure(None)
    for cls, (name, _, from_json) in (_NAMES | _pytree._DUMPED).items():
        if name == encoded["type"]:
            context = from_json(encoded["context"]) if from_json else json.loads(encoded["context"])
            return _pytree.TreeSpec(cls, context, [_found(child) for child in encoded["children_spec"]])
    raise NotImplementedError(f"Deserializing {encoded['type']} in pytree is not registered.")


def loads(serialized: Any) -> Any:
    """The TreeSpec of a text."""
    protocol, encoded = json.loads(serialized)
    _check(protocol)
    return _found(encoded)
