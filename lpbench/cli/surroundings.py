"""Settings of the process around a command: fixed while it runs, put back when it ends, whoever calls it."""

import copy
import gc
import io
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import lpbench

#: Garbage collections are rarer: imports and composition make no garbage, and a sixth of their time would look for it.
_RARELY = 50_000
#: By it a notebook tells its drawings where to appear; those of a command are files.
_BACKEND = "MPLBACKEND"


@contextmanager
def fixed() -> Iterator[None]:
    """Context that fixes process settings (environment, locale, threads, random state) and restores them at the end.

    Letters that an output cannot show become question marks. Restored are: streams, environment, working folder,
    arguments, the path of imports, warnings, logging, signals, random generators, the garbage collector, and the
    options of numpy, pandas and matplotlib.
    """
    with ExitStack() as stack:
        _keep(stack)
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, io.TextIOWrapper):
                stack.callback(stream.reconfigure, errors=stream.errors)
                stream.reconfigure(errors="replace")
            elif stream is None:  # closed by whoever started the process
                setattr(sys, name, stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
        os.environ.pop(_BACKEND, None)
        gc.set_threshold(_RARELY)
        # a sentence for a user, not a line of code
        warnings.formatwarning = lambda message, *_, **__: f"warning: {' '.join(str(message).split())}\n"
        yield


def say(text: str) -> None:
    """Print a line to standard error; a closed stream is ignored."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: Any) -> None:
    """Replace a closed output stream, so that the interpreter's last flush raises nothing."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def unforeseen(error: BaseException) -> str:
    """Write the traceback of an unexpected error to a file, and return the sentence that names it."""
    text = " ".join("".join(traceback.format_exception_only(error)).split())
    try:
        descriptor, file = tempfile.mkstemp(prefix="lpbench-error-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="replace") as report:
            report.write(f"lpbench {lpbench.__version__}, Python {sys.version}\n")
            report.writelines(traceback.format_exception(error))
        where = f"the traceback is in {file}"
    except OSError as refused:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"the traceback cannot be written ({refused.strerror}) and ends in {last.filename}, line {last.lineno}"
    return f"this is a fault of lpbench or of code that it was given: {text}; {where}"


def _keep(stack: ExitStack) -> None:
    """Push onto a stack the restoring of every setting that a command or a library may change."""
    back = stack.callback
    for name in ("stdout", "stderr", "excepthook"):
        back(setattr, sys, name, getattr(sys, name))
    for words in (sys.argv, sys.path):
        back(words.__setitem__, slice(None), [*words])
    back(_set_environment, dict(os.environ))
    with suppress(OSError):  # the folder was removed
        back(os.chdir, os.getcwd())
    back(setattr, warnings, "formatwarning", warnings.formatwarning)
    stack.enter_context(warnings.catch_warnings())
    back(random.setstate, random.getstate())
    back(gc.set_threshold, *gc.get_threshold())
    back(gc.enable if gc.isenabled() else gc.disable)
    for logger in [logging.root, *logging.root.manager.loggerDict.values()]:
        if isinstance(logger, logging.Logger):
            back(vars(logger).update, vars(logger) | {"handlers": [*logger.handlers], "_cache": {}})
    if threading.current_thread() is threading.main_thread():
        for number in signal.valid_signals():
            if (handler := signal.getsignal(number)) is not None:  # None: not Python's
                back(_handle, number, handler)
    if numpy := sys.modules.get("numpy"):
        stack.enter_context(numpy.errstate())
        stack.enter_context(numpy.printoptions())
        back(numpy.random.set_state, numpy.random.get_state())
    if pandas := sys.modules.get("pandas"):
        back(_refill, pandas.options.d, copy.deepcopy(pandas.options.d))
    drawing = sys.modules.get("matplotlib")
    settings = dict(dict.items(drawing.rcParams)) if drawing else {}  # as they are: to ask for the backend chooses one
    back(_draw_as_before, settings, os.environ.get(_BACKEND))


def _set_environment(before: Mapping[str, str]) -> None:
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


def _handle(number: int, handler: Any) -> None:
    if signal.getsignal(number) is not handler:
        signal.signal(number, handler)


def _refill(options: MutableMapping[str, Any], before: Mapping[str, Any]) -> None:
    """Restore options, which are in groups, to their values before."""
    for name, value in before.items():
        if isinstance(value, dict):
            _refill(options[name], value)
        else:
            options[name] = value


def _draw_as_before(settings: Mapping[str, Any], wished: str | None) -> None:
    """Restore matplotlib's settings and drawing backend; ``wished`` is the backend that the environment names."""
    if settings:
        dict.update(sys.modules["matplotlib"].rcParams, settings)
    backend, pyplot = settings.get("backend", wished), sys.modules.get("matplotlib.pyplot")
    if pyplot and isinstance(backend, str):
        with suppress(ImportError, ValueError):  # the wish cannot be fulfilled
            pyplot.switch_backend(backend)
