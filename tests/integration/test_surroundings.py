"""Every command under an ASCII output, a full disk, a folder that is read-only, a notebook's settings: no traceback."""

import ctypes
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lpbench.cli import surroundings
from lpbench.cli.main import COMMANDS, main
from tests.slowly import slow_but

#: A call of every command, cheap enough to be made in each of the surroundings.
CALLS = {
    "": ["dataset=diabetes_progression method=private_mean replications=2 tracking=none",
         "-m dataset=diabetes_progression method=private_mean,hist replications=2 tracking=none",
         "experiment=histoftree/figure1 tracking=none", "--help", "--cfg job", "nonsense", "epsilon=x"],
    "audit": ["audit code leak:leak --epsilon 1 --values 0 1 --samples 2000",
              "audit code leak:huge --epsilon 1 --values 0 1",
              "audit private_mean --samples 1000 --workers 1"],
    "check": ["check dataset own", "check method hist --only guarantee"],
    "completion": ["completion bash"],
    "explain": ["explain own hist 2"],
    "export": ["export histoftree/figure1", "export own/curve"],
    "list": ["list methods", "list datasets", "list masks", "list experiments"],
    "need": ["need --quick --without-pilot --epsilon 1", "need pilot.csv --quick --epsilon 1 --plot drawn.svg"],
    "new": ["new method mine", "new dataset umlaut.csv", "new dataset größe_fehlt.csv"],
    "plan": ["plan histoftree/table1"],
    "rank": ["rank hist --quick", "rank nonsense"],
    "rates": ["rates nonsense"],
    "report": ["report"],
    "reproduce": ["reproduce own/curve --workers 1", "reproduce histoftree/table1"],
    "show": ["show dataset=own mask=file", "show own/curve"],
    "submit": ["submit nonsense", "submit hist --author A --license MIT --paper P"],
    "ui": ["ui --tracking-uri mysql://nobody@nowhere/none"],
    "verify": ["verify bitwise own/curve", "verify bitwise histoftree/figure1", "verify submission nowhere"],
}  # fmt: skip
WORDS = [call.split() for calls in CALLS.values() for call in calls]
#: Runs commands one after the other in one process; prints words, exit code, output and errors of each.
DRIVER = """
import contextlib, io, json, resource, sys, warnings
calls, encoding, limit = json.loads(sys.argv[1])
from lpbench.cli.main import main
if limit is not None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for words in calls:
    raw = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding=encoding) for stream in raw)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except BaseException as error:
            code = repr(error)
    out.flush(), err.flush()
    print(json.dumps([words, code, *(stream.getvalue().decode(encoding, "replace") for stream in raw)]), flush=True)
"""
#: What is set around the commands: environment, encoding of the outputs, bytes of the largest file.
SURROUNDINGS = {
    "ascii_in_a_notebook, some calls": (
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "MPLBACKEND": "module://no_such_package.backend"},
        "ascii", None,
    ),
    "ascii_in_a_notebook": (
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "MPLBACKEND": "module://no_such_package.backend"},
        "ascii", None,
    ),
    "full_disk": ({}, "utf-8", 0),
    "read_only": ({}, "utf-8", None),
    "disk_that_fills": ({}, "utf-8", 30_000),
}  # fmt: skip


def _bound_by_modes() -> None:
    """Give up root's right to pass over the modes of files."""
    for capability in (1, 2, 3):  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a data set, an experiment, a pilot and a leaking function of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LPBENCH_RESULTS", str(tmp_path / "results"))
    draws = np.random.default_rng(0)
    table = pd.DataFrame({"a": draws.normal(size=300).round(3), "ort": draws.choice(["Köln", "Łódź", "東京"], 300),
                          "kosten €": draws.normal(size=300).round(3)})  # fmt: skip
    table.to_csv("umlaut.csv", index=False)
    table[["a", "kosten €"]].to_csv("pilot.csv", index=False)
    table.to_csv("own.csv", index=False)
    Path("leak.py").write_text(
        "def leak(v, rng):\n    return {'größe €': v}\n\n\ndef huge(v, rng):\n    return 10**400 + v\n"
    )
    assert main(["new", "dataset", "own.csv"]) == 0
    own = Path("lpbench_plugins/experiments/own")
    own.mkdir(parents=True)
    (own / "curve.yaml").write_text(
        "name: own/curve\npaper: own\nkind: figure\ntitle: Größe\nreplications: 2\ngroups:\n  - dataset: [own]\n"
        "    mask: [aligned]\n    method: [private_mean, hist]\n    epsilon: [1, 2]\n    x: epsilon\n"
    )
    return tmp_path


def test_every_command_is_called():
    assert [*CALLS] == ["", *COMMANDS]


@pytest.mark.parametrize("name", slow_but(SURROUNDINGS, "ascii_in_a_notebook, some calls"))
def test_no_command_ends_in_a_traceback(folder, name):
    settings, encoding, limit = SURROUNDINGS[name]
    called = WORDS[::3] if name.endswith("some calls") else WORDS
    (folder / "results").mkdir(mode=0o555 if name == "read_only" else 0o755)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "LPBENCH_DATA_MIRROR")}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([called, encoding, limit])],
        env={**environment, **settings}, capture_output=True, text=True, preexec_fn=_bound_by_modes,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    assert [words for words, *_ in answers] == called, done.stderr
    for words, code, out, err in answers:
        assert code in (0, 1, 2) and "Traceback" not in out + err, (words, code, out[-300:], err[-2000:])


def in_a_process(*words: str, **settings: str | int) -> subprocess.CompletedProcess:
    """``lpbench WORDS`` as a shell starts it."""
    environment = {name: value for name, value in settings.items() if isinstance(value, str)}
    out = settings.get("stdout", subprocess.PIPE)
    return subprocess.run(
        [sys.executable, "-m", "lpbench", *words],
        env={**os.environ, **environment}, stdout=out, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_an_output_without_room_is_a_sentence():
    with open("/dev/full", "w") as full:
        done = in_a_process("list", "masks", stdout=full.fileno())
    assert done.returncode == 2 and re.fullmatch("error: cannot write to .*: disk full; free space .*\n", done.stderr)


def test_a_process_without_standard_output():
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m lpbench list masks >&-"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_working_folder_that_was_removed(tmp_path):
    command = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m lpbench list methods"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, env={
        **os.environ, "PYTHONPATH": str(Path(surroundings.__file__).parents[2])})  # fmt: skip
    assert done.returncode == 2 and "working folder was removed" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def fails(monkeypatch):
    """An error that nobody thought of, in any command that lists."""

    def fail(*_: object) -> None:
        raise OverflowError("int too large")

    monkeypatch.setattr("lpbench.cli.list.own_folders", fail)


def test_an_unforeseen_error_is_a_sentence_that_names_the_file_with_its_traceback(fails, capsys):
    assert main(["list", "masks"]) == 3
    [said] = capsys.readouterr().err.splitlines()
    file = Path(re.fullmatch(r"error: .*OverflowError: int too large; the traceback is in (\S+)", said)[1])
    assert "Traceback" in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
    file.unlink()


def test_a_traceback_that_cannot_be_written_is_told_by_its_end(fails, capsys, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    assert main(["list", "masks"]) == 3
    [said] = capsys.readouterr().err.splitlines()
    assert "int too large" in said and "(No space left on device)" in said and "test_surroundings.py, line" in said


def test_an_exit_of_foreign_code_is_no_success(monkeypatch, capsys):
    monkeypatch.setattr("lpbench.cli.list.own_folders", lambda: sys.exit(0))
    assert main(["list", "masks"]) == 3 and "SystemExit" in capsys.readouterr().err


#: Prints what of the process's settings differs after a command.
PROBE = """
import contextlib, gc, io, json, logging, os, random, signal, sys, warnings
import matplotlib, numpy as np, pandas as pd
matplotlib.use("svg"); np.random.seed(3); random.seed(3); pd.set_option("display.max_rows", 7)
def state():
    return {"numpy": str(np.random.get_state()), "random": str(random.getstate()), "filters": str(warnings.filters),
            "errors": str(np.geterr()), "handlers": str(logging.root.handlers), "level": logging.root.level,
            "environment": dict(os.environ), "folder": os.getcwd(), "words": [*sys.argv], "path": [*sys.path],
            "rc": str(sorted(dict.items(matplotlib.rcParams), key=str)), "pandas": str(pd.options.d),
            "signals": str([signal.getsignal(s) for s in signal.valid_signals()]),
            "gc": (gc.get_threshold(), gc.isenabled()),
            "format": str(warnings.formatwarning), "hook": str(sys.excepthook),
            "streams": (sys.stdout.errors, sys.stderr.errors)}
import lpbench.analysis, lpbench.audit, lpbench.experiments, lpbench.ledger, lpbench.planning, lpbench.reporting.report
import lpbench.estimators, lpbench.testing
from lpbench.cli import list as command
from lpbench.cli.main import main
def spoil():
    np.random.seed(1); random.seed(1); np.seterr(all="raise"); os.environ["A"] = "b"; os.chdir("/"); gc.disable()
    pd.set_option("display.max_rows", 9); matplotlib.rcParams["font.size"] = 30
    logging.basicConfig(level=1, force=True)
    signal.signal(signal.SIGTERM, signal.SIG_IGN); warnings.simplefilter("error")
    sys.path.append("x"); sys.argv[:] = []
    raise RuntimeError
before = state()
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
    codes = [main(words) for words in json.loads(sys.argv[1])]
    command.own_folders = spoil
    codes.append(main(["list", "masks"]))
after = state()
print(codes, {name: (before[name], after[name]) for name in before if before[name] != after[name]})
"""


@pytest.mark.slow
def test_the_settings_of_the_process_are_put_back(folder):
    calls = [["list", "methods"], ["-m", "dataset=own", "method=private_mean,hist", "replications=1"],
             ["reproduce", "own/curve", "--tracking", "none", "--workers", "1"], ["nonsense"]]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", PROBE, json.dumps(calls)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 2, 3] {}", done.stdout[-3000:] + done.stderr


@pytest.mark.parametrize("uri", ["mysql://u:p@h/db", "mssql+pyodbc://x/y", "sqlite:///", "nonsense+driver://h"])
def test_a_tracking_store_that_cannot_be_opened_costs_no_number(folder, uri, capsys):
    assert (
        main(["dataset=own", "method=private_mean", "replications=1", "tracking=mlflow", f"tracking.uri='{uri}'"]) == 0
    )
    said = capsys.readouterr()
    assert "mse" in said.out and "warning: not logged to MLflow" in said.err and "tracking=none" in said.err


def test_a_damaged_record_of_a_cell_is_passed_over(folder, capsys):
    from lpbench.cli.composed import conclude_multirun
    from lpbench.experiments.config import Tracking

    assert main(["dataset=own", "method=private_mean", "replications=1", "tracking=none"]) == 0
    for number, text in enumerate(["", "{", "[]", '{"folder": 1}']):
        job = folder / "results" / "hydra" / "sweep" / str(number)
        job.mkdir(parents=True)
        (job / "cell.json").write_text(text)
    conclude_multirun(folder / "results", folder / "results" / "hydra" / "sweep", Tracking())
    assert capsys.readouterr().err.count("run this cell again") == 4
