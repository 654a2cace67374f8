"""Tables of reports in files, which need pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow.parquet import read_metadata

from lpbench.audit.black_box.reports import to_columns
from lpbench.audit.black_box.sources import FixedSource
from lpbench.audit.black_box.values import MOST_VALUES
from lpbench.datasets.archives import MOST, check_size
from lpbench.datasets.readers import read_table
from lpbench.errors import DataError


class FileSource(FixedSource):
    """A CSV or parquet file: a column ``value``, columns of reports, one row per independent run of the program."""

    def __init__(self, path: Path):
        """Read the table and check it before anything is decided: a column `value`, complete rows, a size that fits."""
        try:
            check_size(path)
            if path.suffix == ".parquet":
                metadata = read_metadata(path)
                if 8 * metadata.num_rows * metadata.num_columns > MOST:
                    raise DataError(f"it has {metadata.num_rows} rows, more than {MOST >> 20} MiB")
            table = pd.read_parquet(path) if path.suffix == ".parquet" else read_table(path)
        except Exception as error:
            text = " ".join(str(error).split())
            raise DataError(f"{str(path)!r} cannot be read as a table: {text}") from None
        if "value" not in table.columns or len(table.columns) < 2:
            present = ", ".join(map(str, table.columns))
            raise DataError(f"{str(path)!r} must have a column `value` and columns of reports; it has {present}")
        if table.isna().any(axis=None):
            row = int(np.flatnonzero(table.isna().any(axis=1))[0])
            raise DataError(f"{str(path)!r}: row {row + 1} has an empty entry or NaN; every report must be complete")
        values = sorted(table["value"].unique().tolist(), key=lambda v: (str(type(v)), v))
        if not 2 <= len(values) <= MOST_VALUES:
            raise DataError(f"{str(path)!r} has {len(values)} distinct values; an audit compares 2 to {MOST_VALUES}")
        names = [name for name in table.columns if name != "value"]
        groups = {value: rows[names] for value, rows in table.groupby("value")}
        # a report in several columns of numbers is read column by column
        reports = [
            {str(n): next(iter(to_columns(groups[v][n].to_numpy(), str(n)).values())) for n in names} for v in values
        ]
        super().__init__(path.name, values, reports)
