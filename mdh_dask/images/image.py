"""Images that are open but not read, and the order of their pixels as rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from .._storable import storable
from .._typing import AnyArray, Integers
from ..chunks import default_block_bytes
from .ome import Multiscale
from .quantisation import Quantisation
from .validity import Block, OpenPixels, Validity, cut

PANEL = 2048
"""Columns per panel, a power of two, which bounds the memory for a few lines of a very wide image."""


@storable
@dataclass(frozen=True)
class PixelOrder:
    """Pixels panel by panel from the left, and line by line within each: an order independent of the chunks.

    A narrow image is one panel, with rows in the order of ``pixels.reshape(-1, n_bands)``.
    """

    height: int
    width: int
    panel: int = PANEL
    """Columns of each panel but the last."""

    @property
    def n_rows(self) -> int:
        """Return the number of pixels."""
        return self.height * self.width

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
        """Return the block of consecutive rows."""
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


View = tuple[float, float, float, float, float, float]
"""Where an image has the pixels of another: a, b, c, d, e, f of column ``a x + b y + c`` and line ``d x + e y + f``."""

AS_STORED: View = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)

MOST_LINES = 4096
"""Lines per block of pixels where blocks need not be whole chunks, as an image may be stored in one chunk."""

MOST_BYTES = 2**25
"""Bytes of a block of pixels where blocks need not be whole chunks: a chunk of many bands may not fit a worker as
values, several times."""


class Source(Protocol):
    """A source of pixels, small enough to be sent to workers."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return lines, columns and bands."""

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels."""

    def open(self) -> Any:
        """Return an object whose ``[lines, columns]``, two slices, is an array of lines, columns and bands."""
        return self


@dataclass(frozen=True)
class Image:
    """An image that is open but not read."""

    source: Source
    """Source of the pixels."""
    path: str
    kind: str
    """``"PNG"`` and other kinds of pictures, ``"TIFF"``, ``"OME-Zarr"`` or ``"Zarr"``."""
    chunks: tuple[int, int]
    """Lines and columns that are stored together."""
    georeference: Mapping[str, Any] = field(default_factory=dict)
    """Georeference as attributes of a Zarr array; empty if unknown."""
    multiscale: Multiscale | None = None
    """Metadata of lines and columns for OME-Zarr."""
    axes: str | None = None
    """The axes as given by the user."""
    validity: Validity | None = None
    """Which pixels hold data; all by default."""
    n_valid: Integers | None = field(default=None, repr=False, compare=False)
    """Pixels with data on each line of each panel, in the order of rows, once `counted` has counted them."""
    geo_tags: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    """The tags of a GeoTIFF that place it, as tifffile writes them."""
    bands: tuple[str, ...] = ()
    """Names of the bands; empty if unknown."""
    view: View = AS_STORED
    """Where the image with these `geo_tags` has the pixels of this one, an overview or one whose lines are read from
    the last to the first."""
    quantisation: Quantisation | None = None
    """How stored numbers become pixels; as they are by default."""
    snapshot: str = ""
    """The snapshot of an Icechunk repository at which it is read; empty for others."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return lines, columns and bands."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels."""
        return self.source.dtype if self.quantisation is None else self.quantisation.dtype(self.source.dtype)

    @property
    def nbytes(self) -> int:
        """Return the size of all pixels in memory in bytes."""
        return self.order.n_rows * self.shape[2] * self.dtype.itemsize

    @property
    def n_without(self) -> int:
        """Return the number of pixels without data, zero before they are counted."""
        return 0 if self.n_valid is None else self.order.n_rows - int(self.n_valid.sum())

    @property
    def order(self) -> PixelOrder:
        """Return the order of pixels as rows."""
        return PixelOrder(*self.shape[:2])

    @property
    def label_chunks(self) -> tuple[int, int]:
        """Return lines and columns of a chunk of labels: those of the image, where blocks of rows consist of them.

        Chunks that do not divide a panel of a wide image become the next smaller power of two columns wide.
        """
        line_bytes = min(self.shape[1], self.order.panel) * self.shape[2] * self.dtype.itemsize
        most = 2 ** max(0, (MOST_BYTES // line_bytes).bit_length() - 1)
        lines = min(self.chunks[0], MOST_LINES, self.shape[0], most)
        columns = min(self.chunks[1], self.order.panel, self.shape[1])
        if self.order.panel < self.order.width and self.order.panel % columns:
            columns = 2 ** (columns.bit_length() - 1)
        return lines, columns

    @property
    def pixels(self) -> da.Array:
        """Return the pixels as a lazy Dask array of shape (lines, columns, bands), in the chunks of labels.

        Nothing is read before it is computed. Pixels without data are as they are stored.
        """
        chunks = da.core.normalize_chunks((*self.label_chunks, -1), self.shape)
        return da.map_blocks(
            _read_chunk, opened(self), chunks=chunks, dtype=self.dtype,
            meta=np.empty((0, 0, 0), self.dtype),
        )  # fmt: skip

    def block_lines(self, row_bytes: int) -> int:
        """Return the lines of a block of rows of `row_bytes` bytes each: whole chunks of about the block size."""
        lines = self.label_chunks[0]
        line_bytes = min(self.shape[1], self.order.panel) * row_bytes
        return lines * max(1, default_block_bytes(self.order.n_rows * row_bytes) // (lines * line_bytes))


@dataclass
class Kept(Source):
    """Pixels whose chunks hold several blocks of rows: the last chunks that were decoded stay."""

    source: Any
    chunks: tuple[int, int]
    last: tuple[Block, list[AnyArray]] | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.source.shape

    @property
    def dtype(self) -> np.dtype:
        return self.source.dtype

    def open(self) -> "Kept":
        return Kept(self.source.open(), self.chunks)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to workers, without pixels."""
        return {**vars(self), "last": None}

    def __getitem__(self, block: Block) -> AnyArray:
        """Read a block from the chunks around it."""
        lines, columns = block
        unit = self.chunks[0]
        around = slice(lines.start // unit * unit, min(-(-lines.stop // unit) * unit, self.shape[0])), columns
        if (around[0].stop - around[0].start) > unit:  # with a margin, of windows
            return np.asarray(self.source[block])
        last = self.last
        if last is None or last[0] != around:
            last = self.last = None  # before the next are decoded
            # One after another, as several at once take twice the memory of what is kept.
            parts = [np.asarray(self.source[around[0], part]) for part in cut(columns, self.chunks[1])]
            last = self.last = (around, parts)
        inside = slice(lines.start - around[0].start, lines.stop - around[0].start)
        return np.concatenate([part[inside] for part in last[1]], axis=1)

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the bands that are left out otherwise."""
        return self.source.with_left_out(block)


def opened(image: Image) -> Delayed:
    """Return the open pixels as one node of a graph, so that a picture is decoded once per pass."""
    source, chunks = image.source, image.chunks
    source = source if image.label_chunks[0] == min(chunks[0], image.shape[0]) else Kept(source, chunks)
    pixels = OpenPixels(source, image.validity, chunks, image.quantisation)
    return dask.delayed(OpenPixels.opened, pure=False)(dask.delayed(pixels, traverse=False))


def _read_chunk(pixels: OpenPixels, block_info: Mapping[Any, Any]) -> AnyArray:
    (y0, y1), (x0, x1), _ = block_info[None]["array-location"]
    return pixels.of(pixels.source[slice(y0, y1), slice(x0, x1)])
