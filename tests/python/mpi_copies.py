"""Copies of this machine's MPI library as others have it: under another name, and without functions of MPI 4."""

from __future__ import annotations

import re
import struct
from pathlib import Path

_DYNSYM, _DYNAMIC = 11, 6  # kinds of sections
_SONAME, _DEBUG = 14, 21  # entries of the dynamic section; the latter means nothing in a library
_WEAK = 2 << 4


def copy_of(library: Path, path: Path, without: str = "") -> Path:
    """`library` as the file `path`, whose name is its soname too, without what the regular expression names."""
    content = bytearray(library.resolve().read_bytes())
    at, num = struct.unpack_from("<Q", content, 40)[0], struct.unpack_from("<H", content, 60)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, at + 64 * i) for i in range(num)]
    for _, kind, _, _, begin, size, link, *_ in sections:
        if kind == _DYNAMIC:  # without a soname it is the file's name
            for entry in range(begin, begin + size, 16):
                if struct.unpack_from("<Q", content, entry)[0] == _SONAME:
                    struct.pack_into("<Q", content, entry, _DEBUG)
        if kind == _DYNSYM and without:
            strings = bytes(content[sections[link][4] : sections[link][4] + sections[link][5]])
            for symbol in range(begin, begin + size, 24):
                name_at, info = struct.unpack_from("<IB", content, symbol)
                name = strings[name_at : strings.index(b"\0", name_at)].decode()
                if re.fullmatch(without, name):  # no longer defined, and not missed
                    struct.pack_into("<IBBHQQ", content, symbol, name_at, _WEAK | info & 15, 0, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path
