"""Reads the headers of shared libraries, so that a damaged file is found before the dynamic loader maps it."""
import platform
import struct

MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_NEEDED, DT_STRTAB = 0, 1, 5
SEGMENT = struct.Struct("<IIQQQQQQ")         # of a program header: type, flags, offset, address, -, bytes in the file
ENTRY = struct.Struct("<qQ")                 # of the dynamic section: tag, value


class DamagedLibraryError(Exception):
    """A file that is no intact shared library for this processor; the message says why."""


def read_needed(path):
    """The names of the libraries that the library at `path` needs. DamagedLibraryError where it cannot be loaded.

    The dynamic loader maps a file that was cut off without a complaint, and the process dies of a bus error later.
    """
    with open(path, "rb") as file:
        header = file.read(64)
        size = file.seek(0, 2)
        if len(header) < 64 or header[:4] != b"\x7fELF":
            raise DamagedLibraryError(f"is no shared library ({size} bytes)")
        machine = _machine(header)
        if machine != platform.machine():
            raise DamagedLibraryError(f"is for {machine}, and this machine is {platform.machine()}")
        offset, = struct.unpack_from("<Q", header, 32)
        entry_size, count = struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        table = file.read(entry_size * count)
        if len(table) < SEGMENT.size * count or entry_size < SEGMENT.size:
            raise DamagedLibraryError(f"is damaged: its header ends behind its {size} bytes")
        segments = [SEGMENT.unpack_from(table, entry_size * index) for index in range(count)]
        end = max((start + length for kind, _, start, _, _, length, _, _ in segments if kind == PT_LOAD), default=0)
        if not 0 < end <= size:
            raise DamagedLibraryError(f"is damaged: it has {size} bytes of {end}")
        return _names(file, segments)


def _machine(header):
    number, = struct.unpack_from("<H" if header[5] == 1 else ">H", header, 18)
    return MACHINES.get(number, f"processor type {number}")


def _names(file, segments):
    """The names that DT_NEEDED gives, from the file of intact segments."""
    dynamic = next((segment for segment in segments if segment[0] == PT_DYNAMIC), None)
    if dynamic is None:
        raise DamagedLibraryError("is damaged: it has no dynamic section")
    file.seek(dynamic[2])
    data = file.read(dynamic[5])
    entries = []
    for tag, value in ENTRY.iter_unpack(data[:len(data) // ENTRY.size * ENTRY.size]):
        if tag == DT_NULL:
            break
        entries.append((tag, value))
    strings = next((value for tag, value in entries if tag == DT_STRTAB), 0)
    start = next((begin + strings - address for kind, _, begin, address, _, length, _, _ in segments
                  if kind == PT_LOAD and address <= strings < address + length), None)
    if start is None:
        raise DamagedLibraryError("is damaged: its names lie outside of the file")
    names = []
    for tag, value in entries:
        if tag == DT_NEEDED:
            file.seek(start + value)
            names.append(file.read(256).split(b"\0")[0].decode("ascii", "replace"))
    return names
