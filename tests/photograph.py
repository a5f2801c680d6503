"""Draw the picture of the README, ``python -m tests.photograph``: the demo's photograph, its segments and a valley."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import zarr
from matplotlib.figure import Figure
from PIL import Image

from mdh_dask import load_model
from mdh_dask.plotting import plot_density
from mdh_dask.workflows import demo
from mdh_dask.workflows._demo import path_of

PICTURE = Path(__file__).parents[1] / "notebooks" / "pictures" / "photograph.png"


def draw(path: Path = PICTURE) -> None:
    """Run the demo and draw what it found."""
    figure = Figure(figsize=(11, 2.7), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.05))
    with TemporaryDirectory() as folder:
        demo(folder=folder)
        tree = load_model(f"{folder}/model.zarr").tree_
        labels = zarr.open_array(f"{folder}/labels.zarr")[:]
        pictures = {
            "a photograph": Image.open(path_of("flower")),
            _title(labels): Image.open(f"{folder}/segmented.png"),
        }
        for ax, (title, picture) in zip(axes, pictures.items()):
            ax.imshow(picture)
            ax.set_title(title)
            ax.set_axis_off()
    plot_density(tree, 0, axes[2])
    axes[2].set_title("the valley behind the first split")
    figure.savefig(path, dpi=100)


def _title(labels: np.ndarray) -> str:
    return f"its {labels.max() + 1} segments, their number found"


if __name__ == "__main__":
    draw()
