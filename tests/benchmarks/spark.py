"""Clustering by Spark's MLlib on two threads of this machine."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from mdh_dask.io import open_rows

SHARE_OF_MEMORY = 0.4
"""Of what is free, that the Java machine may take."""


def why_missing() -> str | None:
    """Return that there is no Java, None if there is."""
    return None if shutil.which("java") else "no java on the path: install a Java runtime"


def load(folder: Path) -> Any:
    """Return the rows of a store as a table that Spark holds in memory."""
    from pyspark.ml.functions import array_to_vector

    path = folder / "rows.parquet"
    if not path.exists():
        _write_parquet(folder, path)
    table = _session().read.parquet(str(path))
    rows = table.select("row", array_to_vector("features").alias("features"))
    rows = rows.cache()
    rows.count()
    return rows, np.load(folder / "y.npy")


def _session() -> Any:
    from pyspark.sql import SparkSession

    megabytes = int(SHARE_OF_MEMORY * psutil.virtual_memory().available / 2**20)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", f"{megabytes}m")
        .config("spark.driver.maxResultSize", "0")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def _write_parquet(folder: Path, path: Path) -> None:
    """Write rows as lists of numbers, with their places, block by block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = open_rows(folder / "rows.zarr")
    schema = pa.schema([("row", pa.int64()), ("features", pa.list_(pa.float32()))])
    with pq.ParquetWriter(path, schema) as writer:
        start = 0
        for rows in X.chunks[0]:
            block = X[start : start + rows].compute()
            offsets = np.arange(0, block.size + 1, block.shape[1], dtype=np.int32)
            features = pa.ListArray.from_arrays(pa.array(offsets), pa.array(block.ravel()))
            writer.write_table(pa.table([pa.array(np.arange(start, start + rows)), features], schema=schema))
            start += rows


def fit(name: str, data: tuple[Any, Any], k: int, seed: int) -> tuple[Any, Any]:
    """Return labels and classes of all rows, in the order in which Spark gives them."""
    from pyspark.ml import clustering

    rows, y = data
    model = getattr(clustering, name)(k=k, seed=seed).fit(rows)
    labelled = model.transform(rows).select("row", "prediction").toArrow()
    return labelled["prediction"].to_numpy(), y[labelled["row"].to_numpy()]
