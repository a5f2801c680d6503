"""The order of the pixels of an image as rows."""

from dataclasses import dataclass

from .._storable import storable

PANEL = 2048
"""Columns per panel, a power of two, which bounds the memory for a few lines of a very wide image."""

Block = tuple[slice, slice]
"""Lines and columns of an image."""


@storable
@dataclass(frozen=True)
class PixelOrder:
    """Pixels panel by panel from the left, and line by line within each: an order independent of the chunks.

    Parameters
    ----------
    height, width : int
        Lines and columns of the image.
    panel : int
        Columns of each panel but the last. A narrower image is one panel, with rows in the order of
        ``pixels.reshape(-1, n_bands)``.

    Examples
    --------
    >>> order = PixelOrder(2, 3, panel=2)
    >>> [order.number(y, x) for y in range(2) for x in range(3)]
    [0, 1, 4, 2, 3, 5]
    """

    height: int
    width: int
    panel: int = PANEL

    @property
    def n_rows(self) -> int:
        """Return the number of pixels."""
        return self.height * self.width

    def number(self, y: int, x: int) -> int:
        """Return the row number of a pixel."""
        first = x // self.panel * self.panel
        return self.height * first + y * min(self.panel, self.width - first) + x - first

    def sizes(self, lines: int) -> tuple[int, ...]:
        """Return the numbers of pixels in blocks of at most `lines` lines, in the order of their rows."""
        n_blocks = -(-self.height // lines) * -(-self.width // self.panel)
        return tuple(
            (y.stop - y.start) * (x.stop - x.start) for y, x in (self.block(i, lines) for i in range(n_blocks))
        )

    def block(self, i: int, lines: int) -> Block:
        """Return the `i`-th block of at most `lines` lines."""
        panel, down = divmod(i, -(-self.height // lines))
        y, x = down * lines, panel * self.panel
        return slice(y, min(y + lines, self.height)), slice(x, min(x + self.panel, self.width))

    def block_of(self, start: int, n_rows: int) -> Block:
        """Return the block of consecutive rows.

        Raises
        ------
        ValueError
            If they are not whole lines of one panel.

        Examples
        --------
        >>> PixelOrder(2, 3, panel=2).block_of(2, 2)
        (slice(1, 2, None), slice(0, 2, None))
        """
        x = start // (self.height * self.panel) * self.panel
        width = min(self.panel, self.width - x)
        y, within = divmod(start - self.height * x, width)
        lines, rest = divmod(n_rows, width)
        if within or rest or y + lines > self.height:
            raise ValueError(
                f"expected whole lines of {width} pixels in a block; got rows {start} to {start + n_rows - 1} of an "
                f"image of {self.height} x {self.width} pixels: keep the chunks of pixel_rows"
            )
        return slice(y, y + lines), slice(x, x + width)
