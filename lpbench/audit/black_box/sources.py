"""Sources of reports: a Python function, or a command of any language; tables are in ``files.py``."""

import inspect
import json
import numbers
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np

from lpbench.audit.black_box.interfaces import Subject
from lpbench.audit.black_box.reports import WHOLE, Columns, to_columns
from lpbench.audit.randomizers import Randomizer, repeat
from lpbench.errors import CellTimeout, ConfigurationError, DataError, foreign
from lpbench.experiments.time_limit import time_limit
from lpbench.seeds import Streams, stable_hash

#: Reports asked for by one call of a vectorized function.
_REPORTS_A_CALL = 100_000


class CallableSource(Subject):
    """A Python function ``report(value, rng)``, vectorized ``report(values, rng)``, or ``report(value)``.

    It is vectorized if its first parameter is called ``values``: it then gets an array with one value per user, and
    returns as many reports. Without a second parameter it draws by itself, and the audit cannot be repeated bit by bit.
    """

    def __init__(
        self, function: Callable[..., Any], values: list[Any], seed: int = 0, seconds: float = 300.0, name: str = ""
    ):
        if not callable(function):
            raise ConfigurationError(f"{name or function!r} is not callable; it must be a function report(value, rng)")
        self.name = name or getattr(function, "__name__", str(function))
        self.values, self.function, self.streams, self.left = values, function, Streams(seed), seconds
        self.seconds, parameters = seconds, _parameters(function)
        self.form: set[str] = set()  # names of the columns of every report
        self.vectorized = parameters[:1] == ["values"]
        self.takes_rng = len(parameters) != 1

    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Call the function for reports ``start`` to ``stop`` of a value, in chunks with a random stream each."""
        begins = range(start, stop, _REPORTS_A_CALL)
        parts = [self._chunk(value, first, min(first + _REPORTS_A_CALL, stop) - first, stop) for first in begins]
        return {name: np.concatenate([chunk[name] for chunk in parts]) for name in parts[0]}

    def _chunk(self, value: int, start: int, n: int, stop: int) -> Columns:
        """Call the function for reports ``start`` to ``start + n`` of the value with this index, within the time left.

        ``stop`` is the number wanted in all. DataError names the function and the value: it failed, is too slow, or
        reports change their form.
        """
        given = self.values[value]
        extra = (self.streams.generator("report", value=value, start=start),) if self.takes_rng else ()
        began, done = time.monotonic(), 0
        try:
            with foreign(f"{self.name} failed on value {given!r}"), time_limit(max(self.left, 1e-3)):
                if self.vectorized:
                    reports = self.function(repeat(given, n), *extra)
                else:
                    reports = []
                    for done in range(n):  # noqa: B007 (the message of a time limit says how far it came)
                        reports.append(self.function(given, *extra))
        except CellTimeout:
            came = f"after {start + done} of {stop} reports of value {given!r}"
            raise DataError(
                f"{self.name} did not finish within {self.seconds:g} s ({came}): ask for fewer --samples, or allow "
                "more by --timeout"
            ) from None
        self.left -= time.monotonic() - began
        columns = self._columns(reports, n, given)
        are_integers = isinstance(reports, list) and isinstance(reports[0], (numbers.Integral, np.bool_))
        form = {*columns} | (
            {"whole numbers"} if are_integers and not any(name.startswith(WHOLE) for name in columns) else set()
        )
        self.form = self.form or form
        if form != self.form:
            raise DataError(
                f"{self.name}, value {given!r}: reports differ in shape or type "
                f"({', '.join(sorted(form ^ self.form))}), which tells who reads them more than their numbers; return "
                "one type, such as float(report), and one shape"
            )
        return columns

    def _columns(self, reports: Any, n: int, given: Any) -> Columns:
        """Turn the ``n`` reports on the value ``given`` into columns; DataError unless there is one report per user."""
        try:
            if not isinstance(reports, dict) and len(reports) != n:
                raise DataError(f"it returned {len(reports)} reports for {n} values; there must be one each")
            columns = to_columns(reports)
        except TypeError:
            raise DataError(f"{self.name} returned a {type(reports).__name__} for an array of values") from None
        except DataError as error:
            raise DataError(f"{self.name}, value {given!r}: {error}") from None
        for name, column in columns.items():
            if len(column) != n:
                raise DataError(f"{self.name}: {name} has {len(column)} entries for {n} values; there must be one each")
        if not columns:
            raise DataError(f"{self.name} returned empty reports for value {given!r}")
        return columns


class DeviceSource(Subject):
    """Subject: all that a device sends for each of the listed protected values."""

    def __init__(self, randomizer: Randomizer, streams: Streams, name: str = "devices"):
        self.name, self.values = name, list(range(randomizer.n_values))
        self.randomizer, self.streams = randomizer, streams

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of values that neighboring records can have."""
        return [pair for pair in super().pairs if self.randomizer.neighbors[pair]]

    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Draw reports ``start`` to ``stop`` of a value, by the code that the estimator runs."""
        streams = self.streams.child("audit", value=value, start=start)
        return to_columns(self.randomizer.sample(value, stop - start, streams))


class WithFeatures(Subject):
    """Reports of another source with further columns, which a user's function computes from them."""

    def __init__(self, source: Subject, function: Callable[[Columns], Any], name: str):
        self.name, self.values, self.size, self.source = source.name, source.values, source.size, source
        self.function, self.called = function, name

    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Draw reports and add the columns that the user's function computes from them, one row per report."""
        columns = self.source.draw(value, start, stop)
        with foreign(f"{self.called} failed on columns {', '.join(columns)}"):
            features = to_columns(self.function(dict(columns)), "feature")
        if any(len(column) != stop - start for column in features.values()):
            raise DataError(f"{self.called} must return a row of numbers for each of {stop - start} reports")
        return columns | features


def load_function(path: str) -> Callable[..., Any]:
    """Import ``module:function``, or ``file.py:function``; modules of the working folder are found."""
    holder, name = load_holder(path)
    function = getattr(holder, name)
    if not callable(function):
        raise ConfigurationError(f"{path!r} is not callable; it must be a function report(value, rng)")
    return function


def load_holder(path: str) -> tuple[Any, str]:
    """Import ``module:name`` or ``file.py:name``; return the module or class that has the attribute, and its name."""
    file, colon, name = path.rpartition(":")
    if not (file and colon and name):
        raise ConfigurationError(
            f"{path!r} must read module:function or file.py:function, or be a .csv or .parquet file"
        )
    sys.path.insert(0, os.getcwd())
    try:
        with foreign(f"{file!r} cannot be imported", ConfigurationError):
            holder: Any = _module_of_file(Path(file)) if file.endswith(".py") else import_module(file)
    finally:
        sys.path.remove(os.getcwd())
    *outer, last = name.split(".")
    for attribute in outer:
        holder = getattr(holder, attribute, None)
    if not hasattr(holder, last):
        raise ConfigurationError(f"{file!r} has no {name!r}")
    return holder, last


def _module_of_file(path: Path) -> Any:
    """Import a Python file as a module, once a process, however often it is named."""
    # One module for a file, however often it is named: a learner and its reports are patched and pickled together
    name = f"{path.stem}_{stable_hash(file=str(path.resolve())):x}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise FileNotFoundError("there is no such file")
    spec = util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["value", "rng"]
    return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and (p.default is p.empty or p.name == "rng")]


class FixedSource(Subject):
    """Reports that were drawn before the audit, such as a file's."""

    def __init__(self, name: str, values: list[Any], reports: list[Columns]):
        self.name, self.values, self.reports = name, values, reports
        self.size = min(len(next(iter(columns.values()))) for columns in reports)

    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Return reports ``start`` to ``stop`` of a value."""
        return {name: column[start:stop] for name, column in self.reports[value].items()}


class CommandSource(FixedSource):
    """A command that reads one value per line on standard input and writes one report per line on standard output.

    It runs once, on all values in random order, so that a generator seeded by the clock is seeded once. The variable
    ``LPBENCH_SEED`` is there for it to seed its own. A line is a number, numbers separated by blanks or commas, JSON,
    or else a category.
    """

    def __init__(self, command: str, values: list[Any], samples: int, seed: int = 0, seconds: float = 300.0):
        """Run the command once for all values, in random order, so that its order of inputs tells it nothing.

        It is asked for ``samples`` reports of each value; DataError if it fails or takes more than ``seconds``.
        """
        streams = Streams(seed)
        order = streams.generator("order").permutation(np.repeat(np.arange(len(values)), samples))
        texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
        lines = _run(command, "".join(f"{texts[i]}\n" for i in order), streams.integer("command"), seconds)
        if len(lines) != order.size:
            raise DataError(
                f"{command!r} wrote {len(lines)} lines for {order.size} values; it must write one report for each"
            )
        try:
            columns = to_columns(_read(lines))
        except DataError as error:
            raise DataError(f"{command!r}: {error}") from None
        reports = [{name: column[order == i] for name, column in columns.items()} for i in range(len(values))]
        super().__init__(command, values, reports)


def _run(command: str, text: str, seed: int, seconds: float) -> list[str]:
    """Run a command on ``text`` as its standard input, with a seed in the environment; return its output lines.

    DataError if it fails or takes more than ``seconds``; ConfigurationError if it cannot be started.
    """
    try:
        process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"LPBENCH_SEED": str(seed)},
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError) as error:
        raise ConfigurationError(f"command {command!r} cannot be run: {error}") from None
    try:
        output, errors = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise DataError(
            f"{command!r} did not finish within {seconds:g} s: ask for fewer --samples, or allow more by --timeout"
        ) from None
    if process.returncode:
        last_line = errors.strip().splitlines()[-1:] or ["it said nothing"]
        raise DataError(f"{command!r} failed with exit code {process.returncode}: {last_line[0][:300]}")
    return output.splitlines()


def _read(lines: Sequence[str]) -> Any:
    try:
        return np.array(lines, dtype=np.float64)
    except ValueError:
        return [_report(line.strip()) for line in lines]


def _report(line: str) -> Any:
    """Read a line of output as JSON, a number, a list of numbers, or else a category."""
    if line[:1] in ("[", "{", '"'):
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            return line
    try:
        numbers = [float(word) for word in line.replace(",", " ").split()]
    except ValueError:
        return line
    return numbers if len(numbers) > 1 else numbers[0] if numbers else ""
