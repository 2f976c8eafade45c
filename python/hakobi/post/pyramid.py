"""The levels and bricks of a field's overview: pure arithmetic.

Level k holds means over 2^k cells a direction, levels 1 to 4; level 0 is the field itself, which stays in its file.
A level is cut into bricks, 32^3 values in 3-D and 256^2 in 2-D; bricks at the far edges are filled up with NaN. They
lie in C order, so that what one pass over the source completes is one contiguous piece of the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

NUM_LEVELS = 4
_BRICK_3D, _BRICK_2D = 32, 256
VALUE_BYTES = 2  # float16
CHECKSUM_BYTES = 4  # crc32c behind each brick


@dataclass(frozen=True)
class Level:
    """One level of one field.

    >>> level = Level.of((100, 804, 1440), 1)
    >>> level.shape, level.brick, level.grid
    ((50, 402, 720), (32, 32, 32), (2, 13, 23))
    """

    number: int
    shape: tuple[int, ...]
    brick: tuple[int, ...]

    @classmethod
    def of(cls, full: tuple[int, ...], number: int) -> Level:
        """Level `number` of a field of shape `full` (2 or 3 dimensions)."""
        shape = tuple(-(-n >> number) if n < 0 else (n + (1 << number) - 1) >> number for n in full)
        side = _BRICK_3D if len(full) == 3 else _BRICK_2D
        return cls(number, shape, tuple(min(side, n) for n in shape))

    @property
    def factor(self) -> int:
        return 1 << self.number

    @property
    def grid(self) -> tuple[int, ...]:
        """How many bricks there are a direction."""
        return tuple(-(-n // b) for n, b in zip(self.shape, self.brick, strict=True))

    @property
    def num_bricks(self) -> int:
        return math.prod(self.grid)

    @property
    def brick_bytes(self) -> int:
        """A brick in the file: its values and their checksum."""
        return math.prod(self.brick) * VALUE_BYTES + CHECKSUM_BYTES

    @property
    def index_bytes(self) -> int:
        """The shard's index: offset and length a brick, and a checksum."""
        return 16 * self.num_bricks + CHECKSUM_BYTES

    @property
    def num_bytes(self) -> int:
        return self.num_bricks * self.brick_bytes + self.index_bytes

    def brick_number(self, at: tuple[int, ...]) -> int:
        """The place of the brick at grid position `at` among all, in C order."""
        number = 0
        for position, extent in zip(at, self.grid, strict=True):
            number = number * extent + position
        return number


def levels_of(full: tuple[int, ...]) -> list[Level]:
    """The levels that a field gets: fewer where a coarser one would have a single cell in every direction.

    >>> [level.shape for level in levels_of((3, 5))]
    [(2, 3), (1, 2), (1, 1)]
    """
    levels = []
    for number in range(1, NUM_LEVELS + 1):
        levels.append(Level.of(full, number))
        if max(levels[-1].shape) == 1:
            break
    return levels
