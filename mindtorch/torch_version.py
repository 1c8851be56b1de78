"""torch.torch_version: a version that is a string and compares as a version."""
import math
import re

__all__ = ["TorchVersion"]

_VERSION = (
    r"v?(?P<release>\d+(\.\d+)*)"
    r"([-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_number>\d*))?"
    r"(?P<post>[-_.]?(post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_number>\d*))?"
    r"(\+(?P<local>[a-z0-9]+([-_.][a-z0-9]+)*))?")


def _key(text):
    """What orders versions as PEP 440 has it. None for a text that is no version."""
    found = re.fullmatch(_VERSION, text.strip(), re.IGNORECASE)
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    if found["pre"]:
        letter = {"alpha": "a", "beta": "b"}.get(found["pre"].lower(), found["pre"].lower())
        pre = (0, "rc" if letter in ("c", "pre", "preview") else letter, int(found["pre_number"] or 0))
    else:
        pre = (-1,) if found["dev"] and not found["post"] else (1,)
    post = int(found["post_number"] or 0) if found["post"] else -1
    dev = int(found["dev_number"] or 0) if found["dev"] else math.inf
    local = [(1, int(part)) if part.isdigit() else (0, part.lower())
             for part in re.split("[-_.]", found["local"] or "") if part]
    return release, pre, post, dev, local


def _compared(name):
    string_method = getattr(str, name)

    def compare(self, other):
        if isinstance(other, (tuple, list)):
            other = ".".join(str(part) for part in other)
        if not isinstance(other, str):
            return string_method(self, other)
        own, others = _key(self), _key(other)
        if own is None or others is None:
            return string_method(self, other)
        return getattr(own, name)(others)
    compare.__name__ = name
    return compare


class TorchVersion(str):
    """A version that compares with strings and with tuples of numbers: TorchVersion("2.13.0") >= (2, 10).

    Example:
        >>> torch.torch_version.TorchVersion("2.13.0") >= (2, 10), torch.torch_version.TorchVersion("2.13.0") > "2.9"
        (True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__
    __lt__, __le__, __eq__, __ge__, __gt__ = map(_compared, ("__lt__", "__le__", "__eq__", "__ge__", "__gt__"))
