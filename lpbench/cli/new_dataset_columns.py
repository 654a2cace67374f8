"""Columns of a CSV as features: numbers, dates, categories, and why a column is left out."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pandas as pd

from lpbench.cli.profile import MAX_CATEGORIES, MAX_MISSING, Profile, texts
from lpbench.datasets.preprocess import repeated_identifier
from lpbench.errors import DataError

#: How dates are written, the commonest first.
DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
#: Names of columns that hold identifiers, where all values are different: id, customer_id, CustomerId, order no.
_IDENTIFIER = re.compile(r"(?i:(?:^|[_\W])(?:id|nr|no|key|index|number))$|[a-z]I[dD]$")


def profile_features(profile: Profile, raw: pd.DataFrame) -> None:
    """Numbers as they are, dates as days, two values as 0 and 1, few categories one-hot; the rest is left out."""
    features: list[str | dict[str, Any]] = []
    unit = repeated_identifier(raw)
    if unit:
        profile.content["unit"] = unit
        profile.say("unit", f"{unit}: its values repeat; rows of one are kept together, and who has r of them spends "
                    "r times epsilon; `rows_per_unit=1` trains on one row of each")  # fmt: skip
    for column in raw.columns.drop([unit] if unit else []):
        values = raw[column].dropna()
        dates = _date_formats(values)
        reason = _useless(raw[column], values, bool(dates))
        if reason:
            profile.say("left out", f"{column}: {reason}")
        elif pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            features.append(column)
        elif dates:
            features.append({"column": column, "date": dates[0]})
            other = f"; {dates[1]} would fit too, edit `date`" if len(dates) > 1 else ""
            profile.say("date", f"{column}: days since 1970, read as {dates[0]}{other}")
        else:
            features.append(_category(profile, column, sorted(texts(values).unique())))
    if not features:
        raise DataError("no column can be a feature: " + "; ".join(profile.decisions[2:]))
    profile.content["features"] = features
    numbers = [f for f in features if isinstance(f, str)]
    profile.say("numbers", f"{len(numbers)} column{'s' * (len(numbers) != 1)}: {', '.join(numbers[:6])}"
                + (", ..." if len(numbers) > 6 else ""))  # fmt: skip
    profile.content["sensitivity"] = {"order": "columns", "reason": "not known: the order of the file"}
    profile.say("sensitivity", "the order of the columns, first = most personal; edit `sensitivity` to change it")


def _category(profile: Profile, column: str, categories: list[str]) -> dict[str, Any]:
    two = len(categories) == 2
    coding = {"map": dict(zip(categories, (0, 1), strict=True))} if two else {"one_hot": categories}
    how = "as 0, 1" if two else "one column each"
    profile.say("category", f"{column}: {', '.join(categories[:6])}{', ...' * (len(categories) > 6)}; {how}")
    return {"column": column, **coding}


def _date_formats(values: pd.Series) -> list[str]:
    """Ways of writing dates that fit every cell."""
    if pd.api.types.is_numeric_dtype(values) or values.empty or not texts(values.head(1)).str.match(r"\d").all():
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a format that does not fit is no news
        return [f for f in DATES if pd.to_datetime(texts(values), format=f, errors="coerce").notna().all()]


def _useless(column: pd.Series, values: pd.Series, date: bool) -> str:
    """Why a column can be no feature; empty if it can."""
    if len(values) < (1 - MAX_MISSING) * len(column):
        return f"{1 - len(values) / len(column):.0%} of its cells are missing"
    if values.nunique() < 2:
        return "constant"
    if pd.api.types.is_integer_dtype(values) and len(values) > 2:
        steps = values.diff().dropna()
        if (steps == 1).all():
            return "numbers the rows"
        if (steps > 0).all():
            return "numbers the rows, with gaps"
        if values.is_unique and _IDENTIFIER.search(str(column.name)):
            return "identifies the rows"
    if not pd.api.types.is_numeric_dtype(values) and not date and values.nunique() > MAX_CATEGORIES:
        strange = values[pd.to_numeric(values, errors="coerce").isna()]
        if len(strange) < len(values) / 2:
            return f"{len(strange)} cells are no numbers, e.g. {str(strange.iloc[0])!r}"
        return f"text with {values.nunique()} different values"
    return ""
