"""The target of a CSV: classes or numbers, their public range, and labels far from all others."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from lpbench.checks import check_range
from lpbench.cli.profile import Choices, Profile, texts
from lpbench.errors import ConfigurationError, DataError, unknown_key

#: So few whole numbers are classes, unless they are said to be measured.
FEW_CLASSES = 3
#: The middle 99 % of the labels in less than this share of their range: outliers decide how much noise is added.
BULK, BULK_SHARE = 0.99, 1 / 3


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
