"""The subcommands, their options and help; nothing heavy is imported, so that help and mistakes come at once."""

from __future__ import annotations

import argparse
import difflib
import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from pkgutil import resolve_name

from lpbench.errors import ConfigurationError
from lpbench.paths import CONF, OWN_FOLDER, ROOT, results_folder

QUICK_REPLICATIONS = 2
#: Seconds that a quick run gives a cell, and any other one.
QUICK_CELL_TIMEOUT = 10.0
CELL_TIMEOUT = 3600.0
#: Root seed of the committed results.
SEED = 2025
LISTS = ("methods", "datasets", "masks", "experiments")
LEVELS = ("bitwise", "statistical", "conceptual")
SHELLS = ("bash", "zsh", "fish")


def run(argv: Sequence[str]) -> int:
    """Parse and run one subcommand; returns the exit code."""
    args = parse(argv)
    return resolve_name(args.function)(args)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse one subcommand; a mistake is a ConfigurationError that names what may have been meant."""
    args, unknown = build_parser().parse_known_args(argv)
    if unknown:
        options = [o for option in args.parser._actions for o in option.option_strings]
        raise ConfigurationError(
            f"{args.parser.prog}: {unknown[0]!r} is one argument too many{_meant(unknown[0], options)} "
            f"(`{args.parser.prog} --help` shows how)"
        )
    return args


def subcommands() -> dict[str, argparse.ArgumentParser]:
    """Parsers of the subcommands by name (``new method`` is one)."""
    found: dict[str, argparse.ArgumentParser] = {}

    def walk(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> None:
        if words:
            found[" ".join(words)] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, sub in action.choices.items():
                    walk(sub, (*words, name))

    walk(build_parser(), ())
    return found


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word.partition("=")[0], list(known), n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are errors of ours and whose help fits a screen of 80 columns."""

    def __init__(self, **options):
        formatter = functools.partial(argparse.HelpFormatter, max_help_position=26, width=80)
        super().__init__(**{"formatter_class": formatter, **options})
        self.set_defaults(parser=self)

    def error(self, message: str):
        raise ConfigurationError(f"{self.prog}: {message} (`{self.prog} --help` shows how)")


def _one_of(*names: str, hidden: str = ""):
    """Type of an argument that must be one of a few names (or a hidden one)."""

    def check(text: str) -> str:
        if text not in (*names, hidden):
            raise argparse.ArgumentTypeError(f"{text!r} must be one of {', '.join(names)}{_meant(text, names)}")
        return text

    return check


def _whole(least: int):
    """Type of a whole number."""

    def check(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number >= {least}")
        return value

    return check


def _results(parser: argparse.ArgumentParser, default: Path | None = None, text: str = "") -> None:
    default = default or results_folder()
    text = text or "results folder (default: $LPBENCH_RESULTS, else results/)"
    parser.add_argument("--results", type=Path, default=default, metavar="DIR", help=text)


def _seed(parser: argparse.ArgumentParser, text: str = "root seed (default: %(default)s)", default=SEED) -> None:
    parser.add_argument("--seed", type=_whole(0), default=default, metavar="N", help=text)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands."""
    parser = _Parser(prog="lpbench")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for add in (_add_running, _add_looking, _add_own, _add_checking, _add_rest):
        add(commands)
    return parser


def _command(commands, name: str, function: str, text: str, next_step: str = "") -> argparse.ArgumentParser:
    sub = commands.add_parser(name, help=text, description=text, epilog=next_step)
    sub.set_defaults(function=function)
    return sub


def _add_running(commands) -> None:
    sub = _command(
        commands,
        "reproduce",
        "lpbench.cli.commands:reproduce",
        "Re-run experiments; write their results, the report and its pages.",
        "Interrupted? The same command goes on. Next: open reproduced/index.html in the results folder.",
    )
    sub.usage = "lpbench reproduce [options] [EXPERIMENT ...]"
    sub.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="names, 'histoftree/*' (default: all)")
    sub.add_argument("--replications", type=_whole(1), metavar="N", help="replaces every experiment's own number")
    quick = f"{QUICK_REPLICATIONS} replications, and {QUICK_CELL_TIMEOUT:g} s for a cell"
    sub.add_argument("--quick", action="store_true", help=quick)
    _seed(sub)
    runners = sorted(path.stem for path in (CONF / "runner").glob("*.yaml"))
    sub.add_argument("--backend", type=_one_of(*runners), default="loky", help=", ".join(runners))
    sub.add_argument("--workers", type=_whole(1), metavar="N", help="processes (default: one per core)")
    sub.add_argument("--address", metavar="HOST", help="of a running Dask or Ray cluster (default: this machine)")
    limits = f"seconds for a cell (default: {CELL_TIMEOUT:g}, quick: {QUICK_CELL_TIMEOUT:g})"
    sub.add_argument("--cell-timeout", type=float, metavar="S", help=limits)
    orders = ("plan", "longest_first", "shuffle")
    sub.add_argument("--order", type=_one_of(*orders), default="longest_first", help=", ".join(orders))
    sub.add_argument("--tracking", type=_one_of("none", "mlflow"), default="mlflow", help="none, mlflow")
    sub.add_argument("--tracking-uri", metavar="URI", help="default: a sqlite file in the results folder")
    _results(sub)


def _add_looking(commands) -> None:
    sub = _command(commands, "list", "lpbench.cli.list:list_things", "Print what is registered, yours included.")
    sub.add_argument("what", type=_one_of(*LISTS), metavar="WHAT", help=", ".join(LISTS))

    text = "Print what an experiment runs, how much of it is stored, and its table."
    sub = _command(commands, "show", "lpbench.cli.show:show", text, "Next: lpbench plan experiment=NAME")
    sub.add_argument("experiment", metavar="EXPERIMENT", help="name, e.g. histoftree/table1")
    _results(sub)

    text = "Print blocks, fits and time of a run, without running it."
    sub = _command(commands, "plan", "lpbench.cli.commands:plan", text)
    sub.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="as for a run, e.g. experiment=lpct/table2")

    text = "Print what was run, selected and spent for one cell, with its replications."
    sub = _command(commands, "explain", "lpbench.cli.show:explain", text)
    sub.add_argument("dataset", metavar="DATASET")
    sub.add_argument("method", metavar="METHOD")
    sub.add_argument("epsilon", type=float, metavar="EPSILON")
    sub.add_argument("--mask", help="only this mask")
    sub.add_argument("--experiment", metavar="NAME", help="only this table or figure, e.g. lpct/figure8")
    sub.add_argument("--panel", help="only this panel of a figure")
    sub.add_argument("--x", type=float, help="only this place on a figure's axis")
    _seed(sub, "root seed of the run (default: %(default)s)")
    _results(sub)


def _add_own(commands) -> None:
    sub = commands.add_parser("new", help="Start a method or a data set of your own.")
    kinds = sub.add_subparsers(required=True, metavar="method|dataset", parser_class=_Parser)
    place = f"default: ./{OWN_FOLDER}, which lpbench looks into by itself"

    text = "Write a module, a YAML and a test of a method that runs as it is; then make it yours."
    sub = _command(kinds, "method", "lpbench.cli.new_method:new_method_command", text)
    sub.add_argument("name", metavar="NAME", help="lower case, e.g. my_mean")
    tasks = ("regression", "classification")
    sub.add_argument("--task", type=_one_of(*tasks), default=tasks[0], help=f"{', '.join(tasks)} (default: {tasks[0]})")
    sub.add_argument("--folder", type=Path, default=Path(OWN_FOLDER), metavar="DIR", help=place)

    text = "Profile the columns of a CSV and write its manifest; asks nothing, says what it decided."
    sub = _command(kinds, "dataset", "lpbench.cli.new_dataset:new_dataset_command", text)
    sub.add_argument("file", type=Path, metavar="FILE", help="CSV, plain or gzipped, with or without header")
    sub.add_argument("--target", metavar="COLUMN", help="what to predict (default: the last column)")
    sub.add_argument("--positive", metavar="VALUE", help="this class against all others")
    sub.add_argument("--name", help="default: the file's name")
    sub.add_argument("--folder", type=Path, default=Path(OWN_FOLDER), metavar="DIR", help=place)


def _add_checking(commands) -> None:
    sub = commands.add_parser("check", help="Hold a method or a data set to the contract.")
    kinds = sub.add_subparsers(required=True, metavar="method|dataset", parser_class=_Parser)
    for kind, text in (
        ("method", "scikit-learn's checks, grid, sweep = fit, determinism, workers, guarantee, privacy audit."),
        ("dataset", "Fingerprint, splits, scaling, label range, determinism."),
    ):
        sub = _command(kinds, kind, f"lpbench.cli.check:check_{kind}_command", text)
        sub.add_argument("names", nargs="+", metavar="NAME")
        sub.add_argument("--only", action="append", metavar="CHECK", help="one of them; repeat for more")

    text = "Run again and compare with published results: bitwise, statistical, conceptual."
    sub = _command(
        commands,
        "verify",
        "lpbench.cli.verify:verify",
        text,
        "bitwise: same seed, every byte. statistical: other seed, every cell within its interval. "
        "conceptual: your data (--dataset), the order of the methods. See docs/reproduction.md.",
    )
    sub.usage = "lpbench verify LEVEL [options] [EXPERIMENT ...]"
    sub.add_argument("level", type=_one_of(*LEVELS), metavar="LEVEL", help=", ".join(LEVELS))
    sub.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="default: extensions/embedded_*")
    sub.add_argument("--dataset", action="append", metavar="NAME", help="conceptual: instead of the paper's; repeat")
    sub.add_argument("--replications", type=_whole(1), metavar="N", help="statistical, conceptual: default the paper's")
    _seed(sub, f"statistical, conceptual: root seed (default: {SEED + 1})", default=None)
    sub.add_argument("--workers", type=_whole(1), metavar="N", help="processes (default: one per core)")
    text = "published results (default: results/reproduced of the checkout)"
    sub.add_argument("--against", type=Path, default=ROOT / "results" / "reproduced", metavar="DIR", help=text)
    sub.add_argument("--results", type=Path, metavar="DIR", help="new results (default: results/verify/LEVEL)")

    sub = _command(
        commands,
        "audit",
        "lpbench.cli.commands:audit",
        "Check the privacy of every method, exactly and by sampling.",
        "Writes reproduced/audit.csv and audit.md into the results folder.",
    )
    sub.add_argument(
        "--samples", type=_whole(1), default=1_000_000, metavar="N", help="per value (default: %(default)s)"
    )
    _seed(sub, "seed of the samples (default: %(default)s)")
    sub.add_argument("--workers", type=_whole(1), default=2, metavar="N", help="processes (default: %(default)s)")
    _results(sub)


def _add_rest(commands) -> None:
    text = "Send simulated users through curators whose memory does not grow; measure users per second and memory."
    sub = _command(
        commands, "stream", "lpbench.cli.stream:stream", text, "Writes reproduced/streaming.csv and a figure."
    )
    sub.add_argument("--users", type=_whole(1), default=10**8, metavar="N", help="default: 10^8, some minutes each")
    methods = ("lpct", "histoftree")
    sub.add_argument("--method", action="append", type=_one_of(*methods), help=f"{', '.join(methods)} (default: both)")
    _seed(sub, "seed of the users (default: %(default)s)")
    _results(sub)

    sub = _command(commands, "report", "lpbench.cli.commands:report", "Rewrite report and pages from stored results.")
    _results(sub)

    sub = _command(commands, "track", "lpbench.cli.commands:track", "Rebuild the MLflow runs from stored results.")
    sub.add_argument("--tracking-uri", metavar="URI", help="default: a sqlite file in the results folder")
    _results(sub)

    sub = _command(commands, "ui", "lpbench.cli.commands:ui", "Browse the runs in MLflow, on 127.0.0.1.")
    sub.add_argument("--tracking-uri", metavar="URI", help="default: a sqlite file in the results folder")
    sub.add_argument("--port", type=_whole(1), default=5000, metavar="N", help="default: %(default)s")
    _results(sub)

    sub = _command(
        commands,
        "completion",
        "lpbench.cli.completion:completion",
        "Print the completion script of a shell.",
        'bash, zsh: eval "$(lpbench completion bash)" in .bashrc or .zshrc; '
        "fish: lpbench completion fish > ~/.config/fish/completions/lpbench.fish",
    )
    sub.add_argument("shell", type=_one_of(*SHELLS, hidden="query"), metavar="SHELL", help=", ".join(SHELLS))
    # what the scripts call back: the command line up to the cursor
    sub.add_argument("line", nargs="?", default="", help=argparse.SUPPRESS)
