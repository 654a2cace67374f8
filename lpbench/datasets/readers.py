"""Raw files to a table of raw columns: CSV, Excel, ARFF and LIBSVM, plain or compressed."""

import csv
import io
import itertools
import lzma
import re
import shlex
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file

from lpbench.datasets.archives import COMPRESSED, check_size
from lpbench.datasets.cells import Column, decide, is_number, texts, typed
from lpbench.errors import DataError

#: Values must not depend on the parser: each is the nearest double to what is written (pandas 3 needs no telling).
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
SEPARATORS = ",;\t|"
#: Lines that tell how a file is written.
_SNIFFED_LINES = 20
#: An attribute of an ARFF file up to its type; what follows, remarks and the format of dates, the reader does not know.
_ATTRIBUTE = re.compile(
    r"""(?i)^(\s*@attribute\s+(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s'"]\S*)\s+)(\{(?:'[^']*'|"[^"]*"|[^'"}])*\}|\w+).*"""
)


def read_source(source: Mapping, paths: Mapping[str, Path], columns: Sequence[str], name: str) -> pd.DataFrame:
    """Read and stack the raw files of a source, columns named by position if given; the outer index is the role."""
    if source["kind"] == "embedded":
        try:
            return resolve_name(source["loader"])(as_frame=True, **source.get("options", {})).frame
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"data set {name!r}: {source['loader']} does not take its options: {error}") from error
    columns = list(source.get("columns") or columns)
    options: Mapping[str, Any] = {"type": "arff"} if source["kind"] == "openml" else source.get("format", {})
    frames = []
    for path in paths.values():
        frame = read_file(path, options, f"data set {name!r}: ")
        if columns:
            if frame.shape[1] != len(columns):
                raise DataError(
                    f"data set {name!r}: {path.name} has {frame.shape[1]} columns, expected {len(columns)} "
                    f"({', '.join(columns[:6])}, ...)"
                )
            frame.columns = columns
        frames.append(frame)
    stacked = pd.concat(frames, keys=list(paths))
    if not options.get("strict"):
        return stacked
    missing, numbers = options.get("missing", []), options.get("numbers", {})
    if not isinstance(missing, Mapping):
        missing = dict.fromkeys(stacked, missing if isinstance(missing, list) else [missing])
    words = {column: [unicodedata.normalize("NFC", str(word)) for word in listed] for column, listed in missing.items()}
    made = {c: typed(stacked[c], words.get(c, []), numbers.get(c, "")) for c in stacked}
    if wrong := [column for column in numbers if column not in made or made[column].dtype.kind not in "if"]:
        raise DataError(f"data set {name!r}: column {wrong[0]!r} is not written as {numbers[wrong[0]]!r} in every row")
    return pd.DataFrame(made, index=stacked.index)


def read_table(path: Path, numbers: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV of any separator as columns of numbers and of text; some columns must be numbers in every row."""
    text, how, _ = read_text(path)
    columns = decide_columns(text, None, how.get("sep", ","))
    table = pd.DataFrame({c: typed(text[c], k.missing, *k.written[: k.kind == "number"]) for c, k in columns.items()})
    for column in set(numbers) & set(table):
        parsed = pd.to_numeric(table[column], errors="coerce")
        if parsed.isna().any():
            row = int(np.argmax(parsed.isna()))
            raise DataError(f"{path}: column {column!r}, row {row + 1} holds {text[column][row]!r}, expected a number")
        table[column] = parsed
    return table


def read_text(path: Path) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
    """Read a CSV as stripped text cells; return them, the manifest's ``format``, and remarks about the first line."""
    check_size(path)
    try:
        with _opener(path)(path, "rt", encoding="utf-8-sig", newline="") as file:
            head = "".join(itertools.islice(file, _SNIFFED_LINES))
        lines = {sep: list(csv.reader(io.StringIO(head, newline=""), delimiter=sep)) for sep in SEPARATORS}
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except (OSError, EOFError, lzma.LZMAError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}; export it as CSV in UTF-8") from error
    lines = {sep: [line for line in rows if line] for sep, rows in lines.items()}
    if not any(lines.values()):
        raise DataError(f"{path} is empty")
    if (
        head.count("\n") == _SNIFFED_LINES or head.count("\r") == _SNIFFED_LINES
    ):  # the last line may go on behind what was read
        lines = {sep: rows[:-1] or rows for sep, rows in lines.items()}
    even = {sep: len(rows[0]) for sep, rows in lines.items() if len({*map(len, rows)}) == 1}
    sep = max(SEPARATORS, key=lambda sep: (even.get(sep, 0) > 1, even.get(sep, 0) or len(lines[sep][0])))
    first, *others = lines[sep]
    for k, line in enumerate(others):
        if len(line) > len(first) or (k == 0 and len(line) < len(first)):
            index = " (row names without a name? write the file without them)" if len(line) == len(first) + 1 else ""
            index = " (remarks above the names? remove them)" if first[0].startswith(("#", "%", "//")) else index
            where = "the next one" if k == 0 else f"line {k + 2}"
            raise DataError(f"{path}: its first line has {len(first)} cells, {where} {len(line)}{index}")
    header = not all(is_number(cell.strip()) for cell in first if cell.strip())
    how: dict[str, Any] = (
        {"strict": True} | ({} if sep == "," else {"sep": sep}) | ({} if header else {"header": False})
    )
    text = read_file(path, how)
    notes = [] if header else ["no header: columns are called x1, x2, ..., y"]
    if header and (numbers := [cell for cell in first if is_number(cell.strip())]):
        notes.append(f"its first line is taken for names, though {numbers[0]!r} in it is a number")
    if doubled := [k for k, cell in enumerate(first) if header and cell and cell in first[:k]]:
        name = text.columns[doubled[0]]
        notes.append(f"the name {first[doubled[0]]!r} stands there more than once: the second is called {name!r}")
    text.columns = text.columns.map(str) if header else [*(f"x{k}" for k in range(1, len(first))), "y"]
    return pd.DataFrame({c: [cell.strip() for cell in texts(text[c])] for c in text}, dtype=object), how, notes


def decide_columns(
    text: pd.DataFrame, words: Sequence[str] | None, sep: str, on_decided: Callable[[], Any] = lambda: None
) -> dict[str, Column]:
    """Decide what each column of text holds; a decimal comma in one makes it likely in the others."""
    decided = {}
    for column in text:
        decided[column] = decide(text[column], words, sep)
        on_decided()
    commas = any(",5" in way and not k.remark for k in decided.values() for way in k.written if k.kind == "number")
    return {c: decide(text[c], words, sep, True) if commas and k.kind == "number" else k for c, k in decided.items()}


def _opener(path: Path) -> Callable[..., Any]:
    return COMPRESSED.get(path.suffix.lower(), open)


def read_file(path: Path, options: Mapping, who: str = "") -> pd.DataFrame:
    """Read one file in the format of a manifest; strict ones as text."""
    kind = options.get("type", "csv")
    if kind not in _READERS:
        raise DataError(f"{who}format type {kind!r} must be one of {', '.join(_READERS)}")
    try:
        check_size(path)
        return _READERS[kind](path, options)
    # What a parser raises on a file of another kind is not one family; each of these means "not this format".
    except (ValueError, KeyError, EOFError, OSError, NotImplementedError, StopIteration) as error:
        if isinstance(error, DataError):
            raise
        if isinstance(error, UnicodeDecodeError) and kind in ("csv", "arff"):
            raise _not_utf8(path, who) from error
        reason = " ".join(str(error).split())
        raise DataError(f"{who}{path} cannot be read as {kind}: {reason}") from error


def _not_utf8(path: Path, who: str = "") -> DataError:
    """Error for a file that is not UTF-8, with the command that converts it; ``who`` begins the sentence."""
    with _opener(path)(path, "rb") as file:
        likely = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
    unpacked = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    new = unpacked.with_stem(f"{unpacked.stem}_utf8").name
    return DataError(
        f"{who}{path} is not text in UTF-8; save it as CSV in UTF-8, or {'unpack it and ' * (unpacked != path)}convert "
        f"it: iconv -f {likely} -t utf-8 {shlex.quote(str(unpacked))} > {shlex.quote(new)}"
    )


def _read_csv(path: Path, options: Mapping) -> pd.DataFrame:
    """Read a CSV file as the manifest's format says; ``strict`` keeps each cell as it is written."""
    strict = bool(options.get("strict"))
    types: dict[str, Any] = {"na_values": options.get("missing", []), **_EXACT}
    table = pd.read_csv(
        path,
        sep=options.get("sep", ","),
        header=0 if options.get("header", True) else None,
        comment=options.get("comment"),
        skipinitialspace=True,
        **({"dtype": str, "keep_default_na": False, "na_filter": False} if strict else types),
    )
    if strict and not isinstance(table.index, pd.RangeIndex):
        raise ValueError("its rows have more cells than its first line")
    stripped = [str(name).strip() for name in table.columns]
    if strict and options.get("header", True) and len({*stripped}) == len(stripped):
        table.columns = stripped
    return table


def _read_excel(path: Path, options: Mapping) -> pd.DataFrame:
    """Read a sheet of an Excel file by the manifest's options ``sheet`` and ``skip_rows``, without header."""
    with warnings.catch_warnings():
        # Display settings of Excel that openpyxl does not know; cells are unaffected.
        warnings.filterwarnings("ignore", message="Unknown extension", category=UserWarning)
        return pd.read_excel(
            path, sheet_name=options.get("sheet", 0), header=None, skiprows=options.get("skip_rows", 1)
        )


def _read_arff(path: Path, options: Mapping) -> pd.DataFrame:
    """Read an ARFF file; ValueError if it is none."""
    import arff

    with _opener(path)(path, "rt", encoding="utf-8-sig") as file:
        lines = (_ATTRIBUTE.sub(lambda m: m[1] + ("string" if m[2].lower() == "date" else m[2]), line) for line in file)
        try:
            content = arff.load(lines)
        except (arff.ArffException, RecursionError) as error:
            raise ValueError(str(error)) from error
    return pd.DataFrame(content["data"], columns=[name for name, _ in content["attributes"]])


def _read_svmlight(path: Path, options: Mapping) -> pd.DataFrame:
    X, y = load_svmlight_file(str(path))
    return pd.DataFrame(np.column_stack([y, X.toarray()]))


_READERS = {"csv": _read_csv, "excel": _read_excel, "arff": _read_arff, "svmlight": _read_svmlight}
