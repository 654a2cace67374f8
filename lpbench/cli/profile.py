"""Profile of a CSV for ``lpbench new dataset``: its columns as features, its target, and why a column is left out."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from lpbench.checks import check_range
from lpbench.datasets.preprocess import repeated_identifier
from lpbench.errors import ConfigurationError, DataError, unknown_key

#: A text column with more values than this is left out, and so is one that misses more than this share of its cells.
MAX_CATEGORIES, MAX_MISSING = 20, 0.5
#: How dates are written, the commonest first.
DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
#: Names of columns that hold identifiers, where all values are different: id, customer_id, CustomerId, order no.
_IDENTIFIER = re.compile(r"(?i:(?:^|[_\W])(?:id|nr|no|key|index|number))$|[a-z]I[dD]$")
#: So few whole numbers are classes, unless they are said to be measured.
FEW_CLASSES = 3
#: The middle 99 % of the labels in less than this share of their range: outliers decide how much noise is added.
BULK, BULK_SHARE = 0.99, 1 / 3


@dataclass(frozen=True)
class Choices:
    """What a user decides about a file; everything else is decided for her, and printed."""

    target: str | None = None  # column to predict; None: the last one
    positive: str | None = None  # class against all others; None: of two classes the last in order
    task: str | None = None  # regression or classification; None: decided by the target's values
    log: bool = False  # predict the logarithm of the target, of 1 + the target where it may be 0
    clip: tuple[float, float] | None = None  # clip the target to this range, which is then the public one
    rows: int | None = None  # keep at most as many rows, drawn once
    missing: str = "drop"  # rows with missing cells, or fill the cells: median, or most frequent category of the column
    public: float | None = (
        None  # share of rows in a public sample; None: 0.1 of a classification's, none of a regression's
    )


@dataclass
class Profile:
    """A manifest in the making, and what was decided on the way."""

    content: dict[str, Any]
    decisions: list[str] = field(default_factory=list)

    def say(self, what: str, text: str) -> None:
        """Note one decision."""
        self.decisions.append(f"{what:12s}{text}")


def texts(values: pd.Series) -> pd.Series:
    """Cells as the preparation compares them: text without blanks, whole numbers without ``.0``."""
    if pd.api.types.is_float_dtype(values) and (values == values.round()).all():
        values = values.astype("Int64")
    return values.astype(str).str.strip()


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


def profile_target(profile: Profile, column: pd.Series, chosen: Choices) -> None:
    """Two values, or --positive: a classification. Numbers: a regression."""
    known, name = column.dropna(), str(column.name)
    classes = sorted(texts(known).unique())
    numeric = pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known)
    if chosen.positive is not None and chosen.positive not in classes:
        raise unknown_key(f"unknown class --positive of column {name!r}", chosen.positive, classes)
    if len(classes) < 2:
        raise DataError(f"target {name!r} has {len(classes)} different values; choose another with --target")
    few = len(classes) <= FEW_CLASSES < len(known) / 3 and (not numeric or (known == known.round()).all())
    if chosen.task == "regression" and numeric:
        _regression(profile, known, chosen)
    elif chosen.positive is not None or len(classes) == 2:
        _classification(profile, known, chosen.positive or classes[-1], classes)
    elif chosen.task == "classification" or few or not numeric:
        of = "has" if numeric else "is text with"
        measured = "--task regression takes them as measured numbers" if numeric else "--target COLUMN chooses another"
        raise DataError(
            f"target {name!r} {of} {len(classes)} values ({', '.join(classes[:4])}{', ...' * (len(classes) > 4)}): "
            f"--positive VALUE makes it one class against the others; {measured}"
        )
    else:
        _regression(profile, known, chosen)


def _classification(profile: Profile, known: pd.Series, positive: str, classes: list[str]) -> None:
    others = [c for c in classes if c != positive]
    profile.content["task"] = "classification"
    profile.content["target"] = {"column": str(known.name), "positive": [positive], "negative": others}
    share = (texts(known) == positive).mean()
    profile.say("task", f"classification: {positive!r} is 1 ({share:.0%}), {', '.join(map(repr, others[:4]))} is 0")


def _regression(profile: Profile, known: pd.Series, chosen: Choices) -> None:
    target: str | dict[str, Any] = str(known.name)
    low, high = float(known.min()), float(known.max())
    said = _range(low, high)
    if chosen.clip is not None:
        low, high = map(float, check_range("--clip", chosen.clip))
        target = {"column": target, "clip": [low, high]}
        outside = float(((known < low) | (known > high)).mean())
        said = f"labels are clipped to y_range {low:g} to {high:g} ({outside:.1%} of them): must be public knowledge"
    elif chosen.log:
        offset = 0 if low > 0 else 1
        if low + offset <= 0:
            raise ConfigurationError(f"--log: target {target!r} holds {low:g}, which has no logarithm; use --clip")
        target = {"column": target, "log": offset}
        low, high = math.log(offset + low), math.log(offset + high)
        said = f"of the logarithm{' of 1 + the label' * bool(offset)}; {_range(low, high)}"
    profile.content |= {"task": "regression", "target": target, "y_range": [low, high]}
    profile.say("task", f"regression; {said}")
    if chosen.clip is None and not chosen.log:
        _say_outliers(profile, known)


def _range(low: float, high: float) -> str:
    return f"y_range {low:g} to {high:g} is the file's: must be public knowledge"


def _say_outliers(profile: Profile, known: pd.Series) -> None:
    """Noise is scaled to the whole range: few labels far from all others make every method useless."""
    low, high = float(known.min()), float(known.max())
    below, above = float(known.quantile(BULK)), float(known.quantile(1 - BULK))
    for bulk, where, end in ((below - low, f"below {below:g}", high), (high - above, f"above {above:g}", low)):
        if bulk < BULK_SHARE * (high - low):
            log = " --log, or" if end == high and low > -1 else ""
            text = f"{BULK:.0%} of the labels lie {where}, but the range ends at {end:g}, and noise grows with it"
            profile.say("outliers", f"{text}: consider{log} --clip LOW HIGH")
