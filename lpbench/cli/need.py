"""``lpbench need``: from a pilot sample, the error at each budget and number of users, and the least that reach one."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lpbench.cli import options
from lpbench.errors import ConfigurationError, DataError, unknown_key

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from lpbench.datasets.table import Table
    from lpbench.planning import Need
    from lpbench.planning.pilot import PilotRuns

_TASKS = ("regression", "classification")
#: Larger files are not read: a pilot needs some thousand rows.
MOST_BYTES = 500 * 2**20
#: What ``--without-pilot`` chooses by.
_OF_ADVICE = ("without_pilot", "task", "protect", "epsilon")


class Span(click.ParamType):
    """Click type of numbers: a list ``1,2,4``, or ``LOW:HIGH`` in steps of a factor."""

    def __init__(self, factor: float, integers: bool = False):
        self.name, self._factor, self._whole = "numbers", factor, integers

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        """Return the numbers of a list or of ``LOW:HIGH``, whose ends are included; anything else is refused."""
        try:
            numbers = [float(number) for number in str(value).replace(":", ",").split(",")]
            if not all(0 < number < math.inf for number in numbers):
                raise ValueError(value)
        except ValueError:
            self.fail(f"{value!r} must be numbers above 0, as in 1,2,4 or 0.5:8", param, ctx)
        if ":" in str(value):
            if len(numbers) != 2 or numbers[0] > numbers[1]:
                self.fail(f"{value!r} must be LOW:HIGH with LOW at most HIGH", param, ctx)
            steps = math.floor(math.log(numbers[1] / numbers[0], self._factor) * (1 + 1e-12))
            numbers = sorted({*(numbers[0] * self._factor**k for k in range(steps + 1)), numbers[1]})
        return [round(number) for number in numbers] if self._whole else numbers


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--without-pilot", is_flag=True, help="In place of FILE: the best method on our data sets.")
@click.option("--target", metavar="COLUMN", help="What to predict.  [default: the last column]")
@click.option("--protect", metavar="COLUMNS", default="", help='Private columns: age,sex,"a, b", or all.')
@click.option(
    "--public",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Public sample with FILE's columns, to be checked.",
)
@click.option("--range", "y_range", type=float, nargs=2, metavar="LOW HIGH", help="Public range of the target.")
@click.option(
    "--task", type=click.Choice(_TASKS), metavar="NAME", help="regression, classification  [default: by its values]"
)
@click.option("--positive", metavar="VALUE", help="This class against all others.")
@click.option("--missing-words", metavar="WORDS", help="These words alone mean missing, as in NA,?")
@click.option("--error", metavar="K", help="Wanted error over a constant's.  [default: 0.8x]")
@click.option("--mse", type=float, metavar="V", help="Wanted mean squared error.")
@click.option("--accuracy", type=click.FloatRange(0, 1), metavar="V", help="Wanted share of right classes.")
@click.option("--epsilon", type=Span(2.0), default="0.5:8", metavar="SPAN", show_default=True, help="Budgets.")
@click.option("--users", type=Span(10.0, integers=True), metavar="SPAN", help="Numbers of users, as in 1000:100000.")
@click.option("--unit", default="person", metavar="NOUN", show_default=True, help="What a row is, for the answer.")
@click.option("--quick", is_flag=True, help="Four splits of 16: wider intervals.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw the answer.")
@options.seed()
@click.pass_context
def command(
    context: click.Context,
    file: Path | None,
    without_pilot: bool,
    target: str | None,
    protect: str,
    public: Path | None,
    y_range: tuple[float, float] | None,
    task: str | None,
    positive: str | None,
    missing_words: str | None,
    epsilon: list[float],
    users: list[int] | None,
    unit: str,
    quick: bool,
    plot: Path | None,
    seed: int,
    **wanted: Any,
) -> int:
    """Estimate the epsilon and the number of users that an error needs. FILE is read in the clear and stays here."""
    from lpbench.cli.profile import Choices, profile_file
    from lpbench.experiments.progress import Progress
    from lpbench.planning import need
    from lpbench.planning.pilot import FEWEST_SPLITS, SPLITS

    if file is None or without_pilot:
        if not without_pilot or file is not None:
            raise ConfigurationError("give either FILE, a pilot sample, or --without-pilot")
        for option in context.command.params:
            given = context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
            if given and option.name not in _OF_ADVICE:
                raise ConfigurationError(f"{option.opts[0]} is about a pilot sample: leave it out of --without-pilot")
        if protect not in ("", "all"):
            raise ConfigurationError(f"--protect {protect}: names are a pilot's; --without-pilot takes --protect all")
        print_advice(task, protect, epsilon)
        return 0
    for path in filter(None, (file, public)):
        _check_file(path)
    if plot is not None and (plot.suffix not in (".png", ".svg", ".pdf") or not plot.absolute().parent.is_dir()):
        raise ConfigurationError(f"--plot {plot} must end in .png, .svg or .pdf, in a folder that is there")
    chosen = Choices(target, positive, task, missing_words=missing_words, public=0.0)
    profile, table = profile_file(file.resolve(), file.name, "pilot", chosen)
    content = profile.content
    classes = content["task"] == "classification"
    name = content["target"]["column"] if isinstance(content["target"], dict) else content["target"]
    goal = _goal(classes, **wanted)
    if classes and y_range is not None:
        raise ConfigurationError("--range is of numbers, and the target has classes: leave it out")
    for decision in profile.lines(options=False):
        if not decision.startswith(("sensitivity", "public")) and (y_range is None or "y_range" not in decision):
            print(f"  {decision}")
    if y_range is None and not classes:
        print("  range       taken from the file, which leaks its least and largest value unless public: --range")
    mask = _mask(protect, name, content, table.columns, profile.left_out)
    kind = int if classes else float
    sample = None if public is None else _public_table(public.resolve(), content)
    splits = FEWEST_SPLITS if quick else SPLITS

    def tell(runs: PilotRuns) -> None:
        bar.advance(1)
        print(_so_far(runs, splits), file=sys.stderr, flush=True)

    with Progress() as bar:
        bar.expect(splits)
        answer = need(
            table.X,
            table.y.astype(kind),
            mask=mask,
            budgets=epsilon,
            users=users,
            y_range=None if classes else y_range,
            task=content["task"],
            target=name,
            X_public=None if sample is None else sample.X,
            y_public=None if sample is None else sample.y.astype(kind),
            seed=seed,
            splits=splits,
            each=tell,
        )
    if plot is not None:
        answer.plot(plot)
        print(f"  drawn       {plot}")
    print_answer(answer, goal, unit, [str(c) for c, m in zip(table.columns, mask, strict=True) if m], name)
    return 0


def _so_far(runs: PilotRuns, splits: int) -> str:
    """Describe the errors at the largest number of users in the finished splits, a number for each budget."""
    means = {name: losses[:, -1].mean(axis=0) for name, losses in runs.losses.items()}
    errors = ", ".join(
        f"{error:.4g} {f'at ε = {budget:g}' if math.isfinite(budget) else 'without privacy'}"
        for budget, error in zip(runs.budgets, means["method"], strict=True)
    )
    done = len(runs.losses["method"])
    return f"split {done} of {splits}, {runs.users[-1]} users: {errors}; a constant {means['constant'][-1]:.4g}"


def print_advice(task: str | None, protect: str, budgets: Sequence[float]) -> None:
    """Print the answers of the page "What should I use?" that fit."""
    from lpbench.experiments import catalog
    from lpbench.paths import COMMITTED
    from lpbench.reporting.pages.advice import choices
    from lpbench.reporting.standings import read_standings

    answers = choices(catalog.experiments().values(), read_standings(COMMITTED), catalog.methods())
    fitting = [a for a in answers if task in (None, a["task"]) and (protect != "all" or a["features"] == "all")]
    fitting = [answer for answer in fitting if float(answer["epsilon"]) in budgets]
    for row in fitting:
        setting = f"protected features: {row['features']}, public sample: {row['sample']}, ε = {row['epsilon']}"
        print(f"{row['task']}, asked: {row['asked']}, {setting}")
        print(f"    {row['method']}; second choice: {row['second']}")
        reference = "public data alone" if row["sample"] == "yes" else "a private constant"
        print(f"    compared with {reference}: {row['change']}\n    {row['command']}")
    if not fitting:
        raise ConfigurationError("nothing was measured for this choice; without --epsilon all are shown")


def _check_file(file: Path) -> None:
    """Refuse a file that is missing or larger than a pilot needs, by a DataError."""
    if not file.is_file():
        raise DataError(f"{file} is no file")
    if file.stat().st_size > MOST_BYTES:
        raise DataError(
            f"{file} has {file.stat().st_size / 2**20:.0f} MB; a pilot needs some thousand rows: draw a sample of at "
            f"most {MOST_BYTES // 2**20} MB first"
        )


def _public_table(file: Path, content: dict[str, Any]) -> Table:
    """Read a public sample as the pilot is read, whose manifest is ``content``; DataError where it does not fit."""
    from lpbench.cli.profile import manifest_of
    from lpbench.datasets.preprocess import prepare
    from lpbench.datasets.readers import read_source

    manifest = manifest_of("public", {key: value for key, value in content.items() if key != "fingerprint"})
    return prepare(read_source(manifest.sources[0], {"data": file}, manifest.columns, "public"), manifest)


def _goal(classes: bool, error: str | None, mse: float | None, accuracy: float | None) -> float | str:
    """Return the wanted error: a number (mean squared error or 1 - accuracy), or text such as "0.8x" of a constant's.

    At most one of the three is given; ConfigurationError for more, and for one that does not fit the target.
    """
    if sum(value is not None for value in (error, mse, accuracy)) > 1:
        raise ConfigurationError("--error, --mse and --accuracy say the same in three ways; give one of them")
    if (mse is not None and classes) or (accuracy is not None and not classes):
        right, wrong = ("--accuracy", "--mse") if classes else ("--mse", "--accuracy")
        raise ConfigurationError(f"{wrong} does not fit the target; use {right}, or --error 0.8x")
    from lpbench.planning.answer import wanted_error

    if accuracy == 1:
        raise ConfigurationError("--accuracy 1 asks for no error at all, which no method under privacy has")
    goal: float | str = error or "0.8x"
    if mse is not None or accuracy is not None:
        goal = mse if accuracy is None else 1.0 - accuracy  # type: ignore[assignment]
    wanted_error(goal)  # before minutes of runs
    return goal


def _mask(
    protect: str, target: str, content: dict[str, Any], columns: tuple[str, ...], left_out: dict[str, str]
) -> np.ndarray:
    """Protected features, bool (columns,), from the names of the file's columns separated by commas, or "all".

    Columns of a one-hot column go together; ``left_out`` has the reason for each column that is no feature.
    ConfigurationError for a name that is no feature.
    """
    import numpy as np

    from lpbench.cli.profile import manifest_of
    from lpbench.datasets.real import group_names

    sources = group_names(manifest_of("pilot", content), columns)
    protected = _names(protect, (*sources, target, *left_out))
    if protected == ["all"]:
        return np.ones(len(columns), dtype=bool)
    for column in protected:
        if column in left_out:
            raise ConfigurationError(f"--protect: column {column!r} is left out: {left_out[column]}")
        if column not in (*sources, target):
            raise unknown_key("--protect: no feature", column, dict.fromkeys(sources))
    return np.isin(sources, protected)


def _names(words: str, columns: Sequence[str]) -> list[str]:
    """Split ``words`` at commas into names; one that has commas itself is the longest that is known, or is quoted."""
    parts, names = words.split(","), list[str]()
    while parts:
        starts = {n: ",".join(parts[:n]).strip(' "') for n in range(len(parts), 0, -1)}
        n = next((n for n, name in starts.items() if name in columns), 1)
        names += filter(None, [starts[n]])
        del parts[:n]
    return names


def print_answer(answer: Need, goal: float | str, unit: str, protected: list[str], target: str) -> None:
    """Print what is protected, the table, and last the answer."""
    table, pilot = answer.table(), answer.pilot
    wanted, constant = answer.wanted(goal), answer.least_useful()
    model = type(pilot.models()["method"]).__name__
    guarantee = answer.guarantees[float(answer.budgets[-1])]
    private = ", ".join([target, *protected[:5]]) + (", ..." if len(protected) > 5 else "")
    print(f"""
Protected   {private}: of each {unit}, by local privacy ({guarantee.model}): against everybody, the collector included
Not         the columns that are shown, who takes part; a {unit} with several rows spends a budget for each
Sent        {table["bits"].min():.0f} to {table["bits"].max():.0f} bits a {unit}, what is shown included
Method      {model}, nothing to tune; {len(answer.runs.losses["method"])} splits of {len(pilot.y)} rows
{_diagnosis(answer)}
{answer.quantity.capitalize()}, with its 90 % interval; * not significantly better than a private constant""")
    print(_grid(table))
    print(f"best constant without privacy: {answer.baseline:.4g}")
    if (table["extrapolated"]).any():
        print(f"more than {answer.runs.users[-1]} users: extrapolated from the pilot")
    lo, hi = answer.budgets.min(), answer.budgets.max()
    print(f"\nAn error of {wanted:.4g} needs")
    for row in answer.least_epsilon(error=goal).itertuples():
        useful = constant.set_index("users")["epsilon"][row.users]
        note = f"; below ε = {useful:.2g} a constant may do as well" if lo < useful < math.inf else ""
        note = f"; no ε up to {hi:g} is certain to beat a constant" if math.isinf(useful) else note
        print(f"  {row.users:>9} users: {_least('ε', row.epsilon, row.low, row.high, lo, hi)}{note}")
    for row in answer.least_users(error=goal).itertuples():
        print(f"  ε = {row.epsilon:<7g}: {_least('users', row.users, row.low, row.high, answer.runs.users[0], None)}")
    n, epsilon = answer.least_epsilon(error=goal)[["users", "epsilon"]].iloc[-1]
    epsilon = hi if math.isinf(epsilon) else epsilon
    mask = {0: "label_only", pilot.X.shape[1]: "all_private"}.get(len(protected), "file mask.params.path=WHO.csv")
    public = "" if pilot.y_range is None else f", y_range=({pilot.y_range[0]:g}, {pilot.y_range[1]:g})"
    print(f"""
Run it: with {n:.0f} users and ε = {epsilon:.3g}
        lpbench.estimators.{model}(epsilon={epsilon:.3g}{public}).fit(X, y, mask=mask)
        lpbench dataset=NAME mask={mask} method=residual_{"gp" if pilot.y_range else "score"} epsilon={epsilon:.3g}""")


def _diagnosis(answer: Need) -> str:
    """Describe how far users agree with the public sample, a line for each budget; empty without one."""
    lines = [
        f"            ε = {e:g}: {said or 'the public sample is too small to be read'}\n"
        for e, said in answer.agreements.items()
    ]
    return f"Public      {''.join(lines).lstrip()}" if lines else ""


def _grid(table: pd.DataFrame) -> str:
    """Text table of errors with intervals, a line for each number of users and a column for each budget.

    A star marks an error that is no better than a constant's.
    """
    budgets = list(dict.fromkeys(table["epsilon"]))
    rows = {
        n: [f"{r.error:.4g} [{r.low:.4g}, {r.high:.4g}]{' ' if r.better else '*'}" for r in of_size.itertuples()]
        for n, of_size in table.groupby("users")
    }
    width = max(26, 2 + max(len(cell) for cells in rows.values() for cell in cells))
    lines = [f"{'users':>9}" + "".join(f"{f'ε = {e:g}':>{width}}" for e in budgets) + f"{'without privacy':>18}"]
    for n, cells in rows.items():
        without = table.loc[table["users"] == n, "without_privacy"].iloc[0]
        lines.append(f"{n:>9}" + "".join(f"{c:>{width}}" for c in cells) + f"{without:>18.4g}")
    return "\n".join(lines)


def _least(what: str, value: float, low: float, high: float, least: float, most: float | None) -> str:
    """Describe a least budget or number of users (``what``) with its interval, from ``low`` to ``high``.

    ``least`` and ``most`` are the ends of those tried; beyond them it is "not reached" or "or less".
    """
    digits = ".2g" if what == "ε" else ".0f"
    if math.isinf(value):
        return f"not reached{f' up to ε = {most:g}' if most else ' within 100 times the pilot'}" + (
            "" if math.isinf(low) else f"; at best {what} = {low:{digits}}"
        )
    if value <= least:
        return f"{what} = {value:{digits}} or less"
    top = f"beyond {most:g}" if math.isinf(high) and most else "not reached" if math.isinf(high) else f"{high:{digits}}"
    return f"{what} = {value:{digits}} [{low:{digits}}, {top}]"
