"""Content of a user's own table, column by column: the manifest in the making, and each decision in a sentence."""

import csv
import io
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd

from lpbench.checks import check_range
from lpbench.cli.suspicious_cells import apart_values, is_value
from lpbench.datasets.cells import SEVERAL_WAYS, Column, decide, texts
from lpbench.datasets.dates import ISO, days, near_date
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.preprocess import as_texts, prepare, repeated_identifier
from lpbench.datasets.readers import decide_columns, read_source, read_text
from lpbench.datasets.table import Table
from lpbench.errors import ConfigurationError, DataError, check_known
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.progress import Progress

#: A text column with more values than this is left out, and so is one that misses more than this share of its cells.
MAX_CATEGORIES, MAX_MISSING = 20, 0.5
#: Lines of one kind that are printed.
MOST_LINES = 12
#: A repeating identifier of fewer values names shops, sites or groups rather than persons: whole ones are no sample.
LEAST_UNITS = 50
#: Bytes of a file whose reading is shown.
LARGE = 2 * 2**20
#: Words that keep a column from being one of numbers, at most, if they are to be named as missing.
MOST_WORDS = 6
#: So few whole numbers are classes, unless they are said to be measured; so many values may be, of so many rows each.
FEW_CLASSES, MOST_CLASSES, FEWEST_OF_A_CLASS = 3, 100, 10
#: The middle 99 % of the labels in less than this share of their range: outliers decide how much noise is added.
BULK, BULK_SHARE = 0.99, 1 / 3
#: A feature that is correlated with the target so much, either way, is the target in other words.
SAME = 1 - 1e-9
#: Names of columns that hold identifiers, where all values are different: id, customer_id, CustomerId, order no, and
#: what pandas calls the nameless column of a saved index.
_IDENTIFIER = re.compile(r"(?i:(?:^|[_\W])(?:id|nr|no|key|index|number))$|[a-z]I[dD]$|^Unnamed: \d+$|^level_\d$")


@dataclass(frozen=True)
class Choices:
    """Decisions of a user about a file, as the options of a command; the program makes all others and prints them.

    None stands for "not decided".
    """

    target: str | None = None  # the column to predict (None: the last one)
    positive: str | None = None  # the class against all others; of two classes, by default the last in order
    task: str | None = None  # regression or classification (None: decided by the target's values)
    log: bool = False  # predict the logarithm of the target, of 1 + the target where it may be 0
    clip: tuple[float, float] | None = None  # clip the target to this range, which is then the public one
    rows: int | None = None  # keep at most as many, drawn once
    missing: str = "drop"  # rows with missing cells; or fill the cells by the column's median or most frequent category
    missing_words: str | None = None  # words that mean missing, separated by commas (None: the usual, among numbers)
    unit: str | None = None  # the column that names persons, or "none" (None: an identifier that repeats)
    public: float | None = None  # share of public rows (None: none)
    no_features: Collection[str] = ()  # columns that are none by what OpenML says
    content: Mapping[str, Any] = field(default_factory=dict)  # of the manifest, by what OpenML says


@dataclass
class Profile:
    """Manifest that is being written for a file, with the decisions made and the options that change them.

    ``content`` is the manifest, ``said`` lists (topic, sentence, option), ``left_out`` has reasons by column, and
    ``words`` those that may mean missing.
    """

    content: dict[str, Any]
    #: Label, decision, option of `new dataset` to change it.
    said: list[tuple[str, str, str]] = field(default_factory=list)
    #: Column -> why it is no feature.
    left_out: dict[str, str] = field(default_factory=dict)
    #: Words that mean missing so far, and those that would have to; None where the file has types of its own.
    words: list[str] | None = None

    def say(self, what: str, text: str, option: str = "") -> None:
        """Add a decision to those that will be printed, with the option that would change it."""
        self.said.append((what, text, option))

    def lines(self, options: bool = True) -> list[str]:
        """The decisions for a screen: of columns that are alike, the first."""
        count: Counter[str] = Counter()
        lines = []
        for what, text, option in self.said:
            count[what] += 1
            if count[what] <= MOST_LINES:
                lines.append(f"{what:12s}{text}{option if options else ''}")
        more = {what: n - MOST_LINES for what, n in count.items() if n > MOST_LINES}
        return lines + [f"{what:12s}... and {n} more columns" for what, n in more.items()]

    def cure(self, words: Iterable[str]) -> str:
        """Return the option that makes words mean missing, besides those that already do; empty where there is none."""
        if self.words is None:
            return ""
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(dict.fromkeys([*words, *self.words]))
        return f"--missing-words {shlex.quote(line.getvalue())} takes them for missing"


def profile_file(file: Path, listed: str, name: str, chosen: Choices) -> tuple[Profile, Table]:
    """Decide what a CSV or ARFF file holds; return the decisions and the table that follows from them."""
    profile, raw, columns = _read(file, listed, name, chosen)
    chosen = replace(chosen, target=_spelled(chosen.target, raw), unit=_spelled(chosen.unit, raw))
    check_known("unknown column --target", [chosen.target], raw.columns)
    # a separator at the end of every line makes a nameless, empty column
    named = [c for c in raw.columns if not (re.match("Unnamed: ", c) and raw[c].isna().all())]
    target = chosen.target or (named or list(raw.columns))[-1]
    profile.say("target", target + ("" if chosen.target else " (the last column; --target names another)"))
    _profile_target(profile, raw[target], columns[target], chosen)
    profile.left_out = {str(_spelled(name, raw)): "no feature at OpenML" for name in chosen.no_features}
    profile.content |= chosen.content
    _profile_features(profile, raw, target, columns, chosen.unit)
    return profile, _profile_rows(profile, raw, name, chosen)


def _spelled(name: str | None, raw: pd.DataFrame) -> str | None:
    """Return the file's spelling of a column name, which may differ in Unicode form or accents; else the name."""
    for form in (partial(normalize, "NFC"), partial(re.sub, "[^ -~]+", "?")):
        alike = [c for c in raw.columns if name and form(c) == form(name)]
        if len(alike) == 1:
            return str(alike[0])
    return name


def manifest_of(name: str, content: dict[str, Any]) -> Manifest:
    """Return the manifest with this content; lists become tuples, as in a manifest read from a file."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    return Manifest(name=name, **fields)


def _read(file: Path, listed: str, name: str, chosen: Choices) -> tuple[Profile, pd.DataFrame, dict[str, Column]]:
    """Find out how the file is written and what its columns hold, and read it as the manifest will.

    ``listed`` is the file's path for the manifest, ``name`` the data set's. Returned are the profile, the table, and
    the kind of each column. DataError without a row or a feature.
    """
    source: dict[str, Any] = {"kind": "file", "files": {"data": listed}, "format": {"type": "arff"}}
    profile = Profile({"title": name.replace("_", " ").capitalize(), "task": "", "origin": f"the file {file.name}"})
    named: list[str] = []
    if arff := file.suffix.lower() == ".arff":
        raw = read_source(source, {"data": file}, [], name)
        columns = {c: Column("number") if raw[c].dtype.kind in "if" else decide(texts(raw[c]), ()) for c in raw}
    else:
        size = file.stat().st_size
        with Progress(live=size > LARGE) as bar:
            bar.stage(f"reading {file.name}, {size / 2**20:.0f} MB")
            text, source["format"], notes = read_text(file)
            bar.stage(f"deciding what {text.shape[1]} columns of {len(text)} rows hold")
            bar.expect(text.shape[1])
            words, sep = _listed(chosen.missing_words), source["format"].get("sep", ",")
            columns = decide_columns(text, words, sep, lambda: bar.advance(1))
        numbers = {c: k.written[0] for c, k in columns.items() if k.kind == "number" and k.written}
        missing = {c: list(k.missing) for c, k in columns.items() if k.missing}
        source["format"] |= ({"missing": missing} if missing else {}) | ({"numbers": numbers} if numbers else {})
        named = [] if source["format"].get("header", True) else list(text.columns)
        raw = read_source(source, {"data": file}, named, name)
    if raw.empty or raw.shape[1] < 2:
        raise DataError(f"{file} has {len(raw)} rows and {raw.shape[1]} columns; at least one feature is needed")
    fetched = [{"kind": "openml", "id": chosen.content["openml"]["id"]}] if chosen.content else []
    profile.content |= {"sources": [source, *fetched]} | ({"columns": named} if named else {})
    how = "ARFF" if arff else "; ".join([f"separated by {source['format'].get('sep', ',')!r}", *notes])
    profile.say("file", f"{len(raw)} rows, {raw.shape[1]} columns, {how}")
    if not arff:
        few = [
            word for k in columns.values() if len(k.odd) <= MOST_WORDS and k.nearly != SEVERAL_WAYS for word in k.odd
        ]
        profile.words = [*dict.fromkeys([*few, *(word for k in columns.values() for word in k.missing)])]
        _say_reading(profile, columns, text, raw)
    return profile, raw, columns


def _listed(words: str | None) -> list[str] | None:
    """Split ``words`` at commas, None if None; one that has commas itself is quoted."""
    return None if words is None else [word.strip() for word in next(csv.reader([words], skipinitialspace=True), [])]


def _say_reading(profile: Profile, columns: dict[str, Column], text: pd.DataFrame, raw: pd.DataFrame) -> None:
    """Report words taken as missing, numbers in an unusual format, and cells that could be meant otherwise.

    ``text`` are the cells as written, ``raw`` as they are read.
    """
    where: dict[str, list[str]] = {}
    for name, column in columns.items():
        for word in column.missing:
            where.setdefault(word, []).append(f"{_quoted(name)} ({int((text[name] == word).sum())})")
    for word, places in where.items():
        profile.say("missing", f"{word!r} means missing in {_some(places)}; --missing-words says otherwise")
    for name, column in columns.items():
        if column.kind == "number" and column.written:
            row = int(np.argmax(raw[name].notna()))
            sentence = f"{text[name].iloc[row]!r} is the number {raw[name].iloc[row]:.12g} (`numbers` of the manifest)"
            profile.say("number", f"{name}: {sentence}")
    for name, column in columns.items():
        if column.remark:
            profile.say("question", f"{name}: {column.remark}")
        if column.kind != "text":
            values = raw[name] if column.kind == "number" else pd.Series(days(raw[name], column.written[0]))
            if apart := apart_values(values.dropna().to_numpy(dtype=float)):
                cells = list(dict.fromkeys(text[name][values.isin(apart).to_numpy()]))
                n = int(values.isin(apart).sum())
                sentence = f"{_some(list(map(repr, cells)))} in {n} rows: far from the other values; missing?"
                profile.say("question", f"{name}: {sentence} {profile.cure(cells)}")
    if profile.content["sources"][0]["format"].get("header", True):
        _say_header(profile, {name: is_value(name, columns[name], text[name], raw[name]) for name in text})


def _say_header(profile: Profile, values: dict[str, bool | None]) -> None:
    """Warn where the first line seems to hold values, not the names of columns.

    ``values`` says for each name if it is like its column's cells; None: it cannot be told.
    """
    names = [repr(name) for name, is_value in values.items() if is_value]
    if names and False not in values.values():
        sentence = f"its first line consists of values of its columns ({_some(names)}): is the line of names missing?"
        profile.say("question", f"{sentence} Put one in front of it")


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _one_hot(numbers: pd.DataFrame) -> list[list[str]]:
    """List groups (names) of neighboring columns of 0 and 1 of which exactly one is 1 in every row."""
    groups, bits, names, start = [], numbers.isin((0, 1)).all(), list(numbers), 0
    while start < len(names):
        end = start
        while end < len(names) and bits[names[end]] and numbers[names[start : end + 1]].sum(axis=1).max() <= 1:
            end += 1
        if is_one_hot := end > start and bool(numbers[names[start:end]].sum(axis=1).min() == 1):
            groups.append(names[start:end])
        start = end if is_one_hot else start + 1
    return groups


def _profile_target(profile: Profile, column: pd.Series, cells: Column, chosen: Choices) -> None:
    """Decide the task: classification for two values, several words or ``--positive``, regression for numbers.

    ``column`` is the target, ``cells`` its kind. DataError if the choice is the user's, with the options.
    """
    labels, name = column.dropna(), str(column.name)
    counts, strange = as_texts(labels).value_counts(), _nearly(profile, labels, cells)
    classes = sorted(counts.index)
    numeric = labels.dtype.kind in "if"
    check_known(f"unknown class --positive of column {name!r}", [chosen.positive], classes)
    if len(classes) < 2:
        raise DataError(f"target {name!r} has {len(classes)} different values; choose another with --target")
    few = len(classes) <= FEW_CLASSES < len(labels) / 3 and (not numeric or (labels == labels.round()).all())
    if chosen.task == "regression" and numeric:
        _regression(profile, labels, chosen)
    elif chosen.positive is not None or len(classes) == 2:
        positive = chosen.positive or classes[-1]
        others = [c for c in classes if c != positive]
        profile.content["task"] = "classification"
        profile.content["target"] = {"column": name, "positive": [positive], "negative": others}
        share = (as_texts(labels) == positive).mean()
        profile.say(
            "task", f"classification: {positive!r} is 1 ({share:.0%}), {_some(list(map(repr, others)), 4)} is 0"
        )
    elif cells.kind == "date":
        raise DataError(f"target {name!r} holds dates, which are no labels; --target chooses another")
    elif (
        len(classes) <= MOST_CLASSES
        and (chosen.content or not strange)
        and (chosen.task == "classification" or (not numeric and (chosen.content or counts.min() >= FEWEST_OF_A_CLASS)))
    ):
        profile.content |= {"task": "classification", "target": {"column": name, "classes": classes}}
        profile.say("task", f"classification: {len(classes)} classes, {_some(list(map(repr, classes)), 4)}")
    elif chosen.task == "classification" or few or not numeric:
        of = "has" if numeric else "is text with"
        measured = "--task regression takes them as measured numbers" if numeric else "--target COLUMN chooses another"
        raise DataError(
            f"target {name!r} {of} {len(classes)} values ({_some(classes, 4)}){strange and f', {strange}'}: "
            "--task classification makes each a class, --positive VALUE one of them against the others; "
            f"{measured}"
        )
    else:
        _regression(profile, labels, chosen)


def _regression(profile: Profile, labels: pd.Series, chosen: Choices) -> None:
    """Set task, target and label range of a regression, clipped or logarithmic if chosen, and report them."""
    target: str | dict[str, Any] = str(labels.name)
    low, high = float(labels.min()), float(labels.max())
    words = _range(low, high)
    if chosen.clip is not None:
        low, high = map(float, check_range("--clip", chosen.clip))
        target = {"column": target, "clip": [low, high]}
        outside = float(((labels < low) | (labels > high)).mean())
        words = f"labels are clipped to y_range {low:g} to {high:g} ({outside:.1%} of them): must be public knowledge"
    elif chosen.log:
        offset = 0 if low > 0 else 1
        if low + offset <= 0:
            raise ConfigurationError(f"--log: target {target!r} holds {low:g}, which has no logarithm; use --clip")
        target = {"column": target, "log": offset}
        low, high = math.log(offset + low), math.log(offset + high)
        words = f"of the logarithm{' of 1 + the label' * bool(offset)}; {_range(low, high)}"
    profile.content |= {"task": "regression", "target": target, "y_range": [low, high]}
    profile.say("task", f"regression; {words}")
    if chosen.clip is None and not chosen.log:
        _say_outliers(profile, labels)


def _range(low: float, high: float) -> str:
    return f"y_range {low:g} to {high:g} is the file's: must be public knowledge"


def _say_outliers(profile: Profile, labels: pd.Series) -> None:
    """Warn of few labels far from all others: noise is scaled to the whole range."""
    low, high = float(labels.min()), float(labels.max())
    below, above = float(labels.quantile(BULK)), float(labels.quantile(1 - BULK))
    for bulk, where, end in ((below - low, f"below {below:g}", high), (high - above, f"above {above:g}", low)):
        if bulk < BULK_SHARE * (high - low):
            log = " --log, or" if end == high and low > -1 else ""
            text = f"{BULK:.0%} of the labels lie {where}, but the range ends at {end:g}, and noise grows with it"
            profile.say("outliers", text, f": consider{log} --clip LOW HIGH")


def _profile_features(
    profile: Profile, raw: pd.DataFrame, target: str, columns: dict[str, Column], unit: str | None
) -> None:
    """Code the features: numbers as they are, dates as days, two values as 0 and 1, few categories one-hot.

    Other columns are left out with a reason; ``unit`` names the column of persons, "none", or is None: it is looked
    for. DataError if no feature is left.
    """
    features: list[str | dict[str, Any]] = []
    check_known("unknown column --unit", [unit], [*raw.columns.drop(target), "none"])
    if unit is None:
        unit = repeated_identifier(raw.drop(columns=target), LEAST_UNITS)
        if unit is None and (few := repeated_identifier(raw.drop(columns=target))):
            note = f"{few}: its {raw[few].nunique()} values repeat: do they name persons?"
            profile.say("question", note, f" --unit {shlex.quote(few)} keeps the rows of one together")
    if unit not in (None, "none"):
        profile.content["unit"] = unit
        note = f"{unit}: its values repeat; rows of one are kept together, and who has r of them spends r times epsilon"
        profile.say("unit", note, "; `rows_per_unit=1` trains on one row of each; --unit none: no persons")
    for name in raw.columns.drop([target, *([unit] if unit in raw else [])]):
        values, column = raw[name].dropna(), columns[name]
        if infinite := [cell for cell in column.odd if cell.lstrip("+-").lower() in ("inf", "infinity")]:
            raise DataError(f"column {name!r} holds {infinite[0]!r} among numbers; {profile.cure(infinite)}")
        reason = profile.left_out.get(name) or _useless(raw[name], values, column)
        if reason := reason or _too_many(profile, values, column):
            profile.say("left out", f"{name}: {reason}")
            profile.left_out[name] = reason
            continue
        if values.dtype.kind in "if":
            features.append(name)
        elif column.kind == "date":
            features.append({"column": name, "date": column.written[0]})
            alternative = f"; {column.written[1]} would fit too, edit `date`" if len(column.written) > 1 else ""
            way = "ISO 8601, in UTC" if column.written[0] == ISO else column.written[0]
            profile.say("date", f"{name}: days since 1970, read as {way}{alternative}")
        else:
            if column.nearly:
                profile.say("question", f"{name} is a category: {_nearly(profile, values, column)}")
            features.append(_category(profile, name, sorted(as_texts(values).unique())))
        if _tells(raw[name], raw[target]):
            profile.say(
                "question",
                f"{name} is the target {target!r} over again: is it known before the target is? "
                "If not, take it out of `features`",
            )
    if not features:
        raise DataError("no column can be a feature: " + "; ".join(t for w, t, _ in profile.said if w == "left out"))
    profile.content["features"] = features
    numbers = [f for f in features if isinstance(f, str)]
    if numbers:
        profile.say("numbers", f"{len(numbers)} column{'s' * (len(numbers) != 1)}: {_some([*map(_quoted, numbers)])}")
    for group in _one_hot(raw[numbers]):
        names = ", ".join(map(_quoted, group))
        profile.say(
            "question",
            f"{names}: exactly one is 1 in every row, so that each tells of the others",
            f"; to protect them together add `groups: {{NAME: [{names}]}}` to the manifest",
        )
    profile.content["sensitivity"] = {"order": "columns", "reason": "not known: the order of the file"}
    profile.say("sensitivity", "the order of the columns, first = most personal; edit `sensitivity` to change it")


def _category(profile: Profile, column: str, categories: list[str]) -> dict[str, Any]:
    two = len(categories) == 2
    coding = {"map": dict(zip(categories, (0, 1), strict=True))} if two else {"one_hot": categories}
    profile.say("category", f"{column}: {_some(categories)}; {'as 0, 1' if two else 'one column each'}")
    return {"column": column, **coding}


def _useless(cells: pd.Series, values: pd.Series, column: Column) -> str:
    """Return the reason why a column cannot be a feature; empty if it can.

    ``values`` are ``cells`` without missing ones.
    """
    if len(values) < (1 - MAX_MISSING) * len(cells):
        return f"{1 - len(values) / len(cells):.0%} of its cells are missing"
    if values.nunique() < 2:
        return "constant"
    if values.dtype.kind in "if" and len(values) > 2 and (values == values.round()).all():
        steps = values.diff().dropna()
        if (steps == 1).all():
            return "numbers the rows"
        if (steps > 0).all() and values.dtype.kind == "i":
            return "numbers the rows, with gaps"
        if values.is_unique and _IDENTIFIER.search(str(cells.name)):
            return "identifies the rows"
    return ""


def _too_many(profile: Profile, values: pd.Series, column: Column) -> str:
    """Return the reason why a text column with many values cannot be a feature; empty for other columns."""
    if column.kind != "text" or values.dtype.kind in "if" or values.nunique() <= MAX_CATEGORIES:
        return ""
    texts_alone = values.astype(str).unique().tolist()
    reason = f"text with {len(texts_alone)} different values, e.g. {texts_alone[0]!r}"
    return _nearly(profile, values, column) or near_date(texts_alone) or reason


def _nearly(profile: Profile, values: pd.Series, column: Column) -> str:
    """Describe the cells that keep a text column from being numbers or dates, and the remedy.

    Empty if the column is near to neither.
    """
    if not column.nearly:
        return ""
    if column.nearly == SEVERAL_WAYS:
        return f"{SEVERAL_WAYS}: {_some(list(map(repr, column.odd)), 3)}; write them in one"
    n = int(values.isin(column.odd).sum())
    cure = profile.cure(column.odd) if len(column.odd) <= MOST_WORDS else ""
    return f"{n} cells are no {column.nearly}, e.g. {column.odd[0]!r}{cure and f'; {cure}'}"


def _tells(feature: pd.Series, target: pd.Series) -> bool:
    """Return True if a feature repeats the target: the same numbers on another scale, or one value for each class."""
    x, y = feature.to_numpy(), target.to_numpy()
    is_present = pd.notna(x) & pd.notna(y)
    x, y = x[is_present], y[is_present]
    if x.dtype.kind in "if" and y.dtype.kind in "if":
        return len(x) > 2 and np.ptp(x) > 0 < np.ptp(y) and bool(abs(np.corrcoef(x, y)[0, 1]) > SAME)
    return len(x) > 2 and bool((pd.factorize(x)[0] == pd.factorize(y)[0]).all())


def _profile_rows(profile: Profile, raw: pd.DataFrame, name: str, chosen: Choices) -> Table:
    """Treat missing cells, cap the rows, draw a public sample, and fingerprint the result, in the profile's manifest.

    Returned is the prepared table. DataError if fewer than ten rows remain.
    """
    content = profile.content
    target = content["target"] if isinstance(content["target"], str) else content["target"]["column"]
    needed = [target, *([content["unit"]] if "unit" in content else [])]
    used = [f if isinstance(f, str) else f["column"] for f in content["features"]]
    steps = _missing(profile, raw, used, needed, chosen.missing)
    n_rows = len(raw.dropna(subset=needed if chosen.missing == "fill" else [*used, *needed]))
    if n_rows < 10:
        raise DataError(
            f"data set {name!r}: {n_rows} rows remain without those that miss a cell; at least 10 are needed"
        )
    if chosen.rows is not None and chosen.rows < n_rows:
        steps.append({"sample": {"size": chosen.rows, "seed": ROOT_SEED}})
        profile.say("rows", f"{chosen.rows} of {n_rows}, drawn once (--rows)")
        n_rows = chosen.rows
    elif chosen.rows is not None:
        profile.say("rows", f"all {n_rows}: no more than --rows {chosen.rows}")
    if steps:
        content["rows"] = steps
    rows = round((chosen.public or 0.0) * n_rows)
    if rows := min(rows, n_rows // 2):
        content["public"] = {"sample": rows, "seed": ROOT_SEED}
    table = prepare(raw, manifest_of(name, content))
    if table.public is not None and table.public.sum() > max(2 * rows, n_rows // 2):  # a unit with most of the rows
        del content["public"]
        table = prepare(raw, manifest_of(name, content))
    if table.public is None:
        profile.say("public", "no rows: the range of all rows scales the features (--public SHARE draws a sample)")
    else:
        drawn, by_unit = int(table.public.sum()), f", every {content['unit']} whole" if "unit" in content else ""
        profile.say(
            "public",
            f"{drawn} rows ({drawn / n_rows:.0%}), drawn once{by_unit}, are the public sample: they "
            "scale the features, and methods may learn from them (--public SHARE)",
        )
    content["fingerprint"] = table.fingerprint
    return table


def _missing(
    profile: Profile, raw: pd.DataFrame, used: list[str], needed: list[str], choice: str
) -> list[dict[str, Any]]:
    """Count missing cells, and return the manifest's steps that treat them as chosen, "drop" or "fill".

    ``used`` are the features' columns; rows that lack one of ``needed`` (target and unit) are always dropped.
    """
    counts = raw[[*used, *needed]].isna().sum()
    counts = counts[counts > 0].sort_values(ascending=False, kind="stable")
    if counts.empty:
        return []
    cells = f"{int(counts.sum())} cells are missing ({_some([f'{_quoted(c)} {n}' for c, n in counts.items()], 4)})"
    if choice == "drop":
        rows = int(raw[[*used, *needed]].isna().any(axis=1).sum())
        dropped = f"{cells}: {rows} rows are dropped ({rows / len(raw):.0%})"
        profile.say("missing", dropped, "; --missing fill keeps them")
        return [{"drop_missing": [*used, *needed]}]
    without = [column for column in needed if column in counts.index]
    steps: list[dict[str, Any]] = [{"drop_missing": without}] if without else []
    filled = [column for column in counts.index if column not in needed]
    dropped = f"; rows without {' or '.join(without)} are dropped" if steps else ""
    profile.say(
        "missing", f"{cells}: filled by the column's median or most frequent category, which are the file's" + dropped
    )
    return [*steps, {"fill_missing": filled}] if filled else steps
