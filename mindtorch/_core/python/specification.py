"""What operator_function.pyx reads of a function's specification, of _core/_gen/functions.py.

A specification's parameters are tuples: name, default (Ellipsis where the argument is required), whether it is given by
keyword only, other names.
"""
import inspect


def read_parameters(parameters):
    """Names, defaults, {other name: index}, how many may be given by position, and the names as C strings."""
    names, defaults, keyword_only, synonyms = zip(*parameters, strict=True) if parameters else ((), (), (), ())
    aliases = {synonym: index for index, others in enumerate(synonyms) for synonym in others}
    return names, defaults, aliases, keyword_only.count(False), [name.rstrip("_").encode() for name in names]


def make_signature(specification):
    parameter = inspect.Parameter
    if specification.get("varargs"):
        return inspect.Signature([parameter("self", parameter.POSITIONAL_OR_KEYWORD),
                                  parameter("args", parameter.VAR_POSITIONAL),
                                  parameter("kwargs", parameter.VAR_KEYWORD)])
    parameters = specification["parameters"]
    shown = {id(Ellipsis): parameter.empty, id(NotImplemented): None}
    made = [parameter(name, parameter.KEYWORD_ONLY if keyword_only else parameter.POSITIONAL_OR_KEYWORD,
                      default=shown.get(id(default), default)) for name, default, keyword_only, _ in parameters]
    others = ["out"] * bool(specification.get("out_count")) + [synonym for entry in parameters for synonym in entry[3]]
    return inspect.Signature(made + [parameter(name, parameter.KEYWORD_ONLY, default=None) for name in others])
