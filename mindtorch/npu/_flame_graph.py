"""Snapshots of device memory as flame graphs: SVG files that any browser shows. Sizes are bytes."""
from __future__ import annotations

import itertools
import zlib
from html import escape
from typing import Any

WIDTH, ROW = 1200, 18           # of the picture, and the height of one frame, in pixels
LETTER = 7                      # how wide one letter of a label is
NARROWEST = 0.1                 # what is less wide is left out

_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" \
font-size="12">
"""
_BOX = """<g><title>{title}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{height}" fill="{colour}"/>\
<text x="{text_x:.2f}" y="{text_y}">{label}</text></g>
"""


def _stacks(block):
    """(what it is, its bytes) of the parts of a block: what was asked for, and what rounding has added."""
    if block["state"] == "inactive":
        return [((), block["size"])]
    frames = tuple(f"{frame['filename']}:{frame['line']}:{frame['name']}" for frame in reversed(block["frames"]))
    gap = block["size"] - block["requested_size"]
    return [(frames, block["requested_size"]), ((*frames, "<gaps>"), gap)][:1 + (gap > 0)]


def segment_stacks(segments: Any) -> Any:
    """(names from the outside in, bytes) of all memory taken from the driver: stream, segment, state, frames."""
    for segment in segments:
        for block in segment["blocks"]:
            place = f"stream_{segment['stream']}", f"seg_{segment['address']:#x}", block["state"]
            yield from ((place + inner, size) for inner, size in _stacks(block))


def memory_stacks(segments: Any) -> Any:
    """(names from the outside in, bytes) of the blocks in use: stream, state, frames."""
    for segment in segments:
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                place = f"stream_{segment['stream']}", block["state"]
                yield from ((place + inner, size) for inner, size in _stacks(block))


def _tree(stacks):
    """{name: [bytes, the tree of what lies inside]}."""
    root = {}
    for names, size in stacks:
        level = root
        for name in names:
            entry = level.setdefault(name, [0, {}])
            entry[0] += size
            level = entry[1]
    return root


def _boxes(level, x, depth, scale):
    """(name, bytes, x, width, depth) of every frame that is wide enough to be seen."""
    for name, (size, inside) in level.items():
        width = size * scale
        if width >= NARROWEST:
            yield name, size, x, width, depth
            yield from _boxes(inside, x, depth + 1, scale)
        x += width


def picture(stacks: Any) -> Any:
    """The text of an SVG file: one row of frames below the other, each as wide as its share of the bytes."""
    stacks = [(("all", *names), size) for names, size in stacks]
    total = sum(size for _, size in stacks)
    boxes = list(_boxes(_tree(stacks), 0, 0, WIDTH / total)) if total else []
    depths = max(itertools.chain([0], (depth for *_, depth in boxes)))
    return _HEAD.format(width=WIDTH, height=(depths + 1) * ROW) + "".join(
        _BOX.format(title=escape(f"{name}: {size} bytes, {100 * size / total:.2f} %"), x=x, y=depth * ROW, width=width,
                    height=ROW - 1, colour=f"hsl({zlib.crc32(name.encode()) % 60},80%,65%)", text_x=x + 2,
                    text_y=depth * ROW + 13, label=escape(name[:int(width - 4) // LETTER]) if width > 4 else "")
        for name, size, x, width, depth in boxes) + "</svg>\n"
