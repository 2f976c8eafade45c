"""The messages of a GRIB file: where their sections lie, and what these say (WMO Manual on Codes, FM 92).

Headers are read, values are passed over: of a file of many gigabytes a page for each message. What lies between
messages (bulletin headings, padding) is skipped. A message of edition 2 may hold several fields, by repeating sections
2 to 7, 3 to 7 or 4 to 7, with a bitmap that later ones share; each is a Record here, and `Record.read` makes a message
of one field of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hakobi.errors import FormatError
from hakobi.post.place import OpenFile

SUFFIXES = (".grib", ".grib1", ".grib2", ".grb", ".grb1", ".grb2", ".gb", ".gb1", ".gb2")
#: By the first bytes a file is known.
HEAD_BYTES = 256
#: Messages of one file that are looked at.
MOST_MESSAGES = 100_000
_PAGE_BYTES = 8 << 10
_OBJECT_PAGE_BYTES = 256 << 10
#: Sections that are kept: more than any description of a grid or product has.
_MOST_SECTION_BYTES = 1 << 20
_MOST_GAP_BYTES = 16 << 20
_MOST_MESSAGE_BYTES = 1 << 30
_MOST_FIELDS_EACH = 10_000

Span = tuple[int, int]  # offset and length in the file


@dataclass(frozen=True)
class Record:
    """One field. Its sections as the file has them, by their numbers: 1, 3, 4 and 5 of edition 2; of edition 1 the
    product's (1) and the grid's (3, empty where there is none). `parts` is where the bytes of the field lie, without
    section 0 and the end; None where the message is the field as it is."""

    edition: int
    discipline: int
    sections: dict[int, bytes]
    has_bitmap: bool
    span: Span  # of the message
    parts: tuple[Span, ...] | None = None

    def read(self, file: OpenFile) -> bytes:
        """The field as a message. Raises FormatError where the file has become shorter, OSError."""
        if self.parts is None:
            return _read(file, *self.span)
        body = b"".join(_read(file, *part) for part in self.parts)
        head = b"GRIB\xff\xff" + bytes((self.discipline, 2)) + (16 + len(body) + 4).to_bytes(8, "big")
        return head + body + b"7777"


@dataclass
class Scanned:
    """`torn` says where and why the rest of the file was not looked at; "" where all was."""

    records: list[Record] = field(default_factory=list)
    torn: str = ""


def is_grib(head: bytes) -> bool:
    """Whether a file whose first HEAD_BYTES are these is one of GRIB messages: a bulletin's heading may come first.

    >>> is_grib(b"GRIB" + bytes(3) + bytes([2])), is_grib(b"GRIB is a format"), is_grib(b"CDF")
    (True, False, False)
    """
    at = head[:HEAD_BYTES].find(b"GRIB")
    return at >= 0 and head[at + 7 : at + 8] in (b"\x01", b"\x02")


def scan(file: OpenFile) -> Scanned:
    """Finds the fields of a file. A message that is cut, or damaged, ends the search. Raises FormatError where there is
    no message at all, OSError."""
    found, pages, size = Scanned(), _Pages(file), file.identity.num_bytes
    at = num_messages = 0
    try:
        while (start := _next_message(pages, at, size)) is not None:
            if num_messages == MOST_MESSAGES:
                raise FormatError(f"only the first {MOST_MESSAGES} messages are looked at")
            num_bytes, records = _message(pages, start, size)
            found.records += records
            at, num_messages = start + num_bytes, num_messages + 1
    except FormatError as error:
        found.torn = f"message {num_messages + 1}: {error}" if num_messages < MOST_MESSAGES else str(error)
    if not found.records:
        raise FormatError(f"{file.path.name} is no whole GRIB file: {found.torn or 'there is no message in it'}")
    return found


class _Pages:
    """Reads little pieces by pages."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self._start, self._page = file, 0, b""
        self._page_bytes = _PAGE_BYTES if file.fileno() >= 0 else _OBJECT_PAGE_BYTES

    def at(self, offset: int, count: int) -> bytes:
        """Fewer bytes only at the file's end."""
        begin = offset - self._start
        if begin < 0 or begin + count > len(self._page):
            self._start, self._page, begin = offset, self._file.read(max(count, self._page_bytes), offset), 0
        return self._page[begin : begin + count]


def _read(file: OpenFile, offset: int, count: int) -> bytes:
    data = file.read(count, offset)
    if len(data) != count:
        raise FormatError(f"{file.path.name} is shorter than it was")
    return data


def _next_message(pages: _Pages, at: int, size: int) -> int | None:
    """Where the next message begins; None where there is none. Raises FormatError after a long gap."""
    end = min(size, at + _MOST_GAP_BYTES)
    while at < end:
        data = pages.at(at, 4)
        if data == b"GRIB":
            return at
        data = pages.at(at, min(_PAGE_BYTES, size - at))
        place = data.find(b"GRIB", 1)
        if place > 0:
            at += place
        elif len(data) < 8:
            return None
        else:
            at += len(data) - 3
    if at < size:
        raise FormatError(
            f"from byte {at - _MOST_GAP_BYTES} on there is no further one within {_MOST_GAP_BYTES >> 20} MiB"
        )
    return None


def _message(pages: _Pages, start: int, size: int) -> tuple[int, list[Record]]:
    """The bytes of a message, and its fields. Raises FormatError."""
    head = pages.at(start, 16)
    edition = head[7] if len(head) > 7 else 0
    if len(head) == 16 and edition not in (1, 2):
        raise FormatError(f"at byte {start} there is GRIB of edition {edition}: 1 and 2 are read")
    num_bytes = int.from_bytes(head[8:16] if edition == 2 else head[4:7], "big")
    if len(head) == 16 and edition == 1 and num_bytes & 0x800000:
        num_bytes = _large_bytes(pages, start, num_bytes)
    if len(head) < 16 or start + num_bytes > size:
        raise FormatError(f"the file ends within it (byte {start} on): it was cut, or is still being written")
    if num_bytes > _MOST_MESSAGE_BYTES:
        raise FormatError(f"it has {num_bytes >> 20} MiB: more than {_MOST_MESSAGE_BYTES >> 20} are not read")
    if num_bytes < 32 or pages.at(start + num_bytes - 4, 4) != b"7777":
        raise FormatError(f"it is damaged (byte {start} on): its end is not where its length says")
    records = _fields_of_1(pages, start, num_bytes) if edition == 1 else _fields_of_2(pages, start, num_bytes, head[6])
    return num_bytes, records


def _damaged(start: int) -> FormatError:
    return FormatError(f"it is damaged (byte {start} on): its sections do not fit")


def _sections_of_1(pages: _Pages, start: int) -> Iterator[tuple[int, int, int]]:
    """Number, offset and length of each section; the last one's length as it stands there."""
    at, flags = start + 8, pages.at(start + 8, 8)
    flag = flags[7] if len(flags) == 8 else 0
    for number in (1, *([2] if flag & 0x80 else []), *([3] if flag & 0x40 else []), 4):
        length = int.from_bytes(pages.at(at, 3), "big")
        yield number, at, length
        at += length


def _large_bytes(pages: _Pages, start: int, told: int) -> int:
    """The size of a message that 24 bits cannot count: in units of 120 bytes, the last section says how much less
    (ECMWF's way)."""
    *_, (_, at, length) = _sections_of_1(pages, start)
    exact = (told & 0x7FFFFF) * 120 - length + 4
    return exact if length < 120 and exact > at - start else told


def _fields_of_1(pages: _Pages, start: int, num_bytes: int) -> list[Record]:
    kept = {1: b"", 3: b""}
    has_bitmap = False
    for number, at, length in _sections_of_1(pages, start):
        if number < 4 and (not 6 <= length <= num_bytes or at + length > start + num_bytes):
            raise _damaged(start)
        has_bitmap |= number == 3
        if number < 3 and length <= _MOST_SECTION_BYTES:
            kept[1 if number == 1 else 3] = pages.at(at, length)
    if len(kept[1]) < 28 or (kept[3] and len(kept[3]) < 28):
        raise _damaged(start)
    return [Record(1, 0, kept, has_bitmap, (start, num_bytes))]


def _fields_of_2(pages: _Pages, start: int, num_bytes: int, discipline: int) -> list[Record]:
    at, end = start + 16, start + num_bytes - 4
    kept: dict[int, bytes] = {}
    spans: dict[int, Span] = {}
    bitmap: Span | None = None
    records: list[Record] = []
    while at < end:
        head = pages.at(at, 5)
        length, number = int.from_bytes(head[:4], "big"), head[4] if len(head) == 5 else 0
        if not 5 <= length <= end - at or not 1 <= number <= 7 or len(records) >= _MOST_FIELDS_EACH:
            raise _damaged(start)
        spans[number] = (at, length)
        if number in (1, 3, 4, 5):
            if length > _MOST_SECTION_BYTES:
                raise _damaged(start)
            kept[number] = pages.at(at, length)
        elif number == 6:
            indicator = pages.at(at + 5, 1)[:1]
            if indicator == b"\x00":
                bitmap = spans[6]
            if indicator == b"\xfe":  # the one that was defined before, in this message
                if bitmap is None:
                    raise _damaged(start)
                spans[6] = bitmap
            kept[6] = indicator
        elif number == 7:
            records.append(_record_of_2(start, num_bytes, discipline, kept, spans))
        at += length
    if len(records) == 1:
        only = records[0]
        return [Record(2, discipline, only.sections, only.has_bitmap, only.span)]
    return records


def _record_of_2(start: int, num_bytes: int, discipline: int, kept: dict[int, bytes], spans: dict[int, Span]) -> Record:
    if not {1, 3, 4, 5, 6} <= set(kept) or len(kept[1]) < 21 or len(kept[3]) < 15 or len(kept[5]) < 11:
        raise _damaged(start)
    parts = tuple(spans[number] for number in (1, 2, 3, 4, 5, 6, 7) if number in spans)
    sections = {number: kept[number] for number in (1, 3, 4, 5)}
    return Record(2, discipline, sections, kept[6] != b"\xff", (start, num_bytes), parts)
