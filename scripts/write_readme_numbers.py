"""Write the numbers of the committed results into the README, between its marks."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis.numbers import in_words as numbers_in_words
from lpbench.analysis.numbers import judged_numbers
from lpbench.analysis.standings import NONE, view
from lpbench.analysis.verdicts import claims_of
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.experiments import catalogue
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.files import write_text
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.number_table import lines_by_configuration, read_numbers
from lpbench.reporting.printed_names import in_print, method_title
from lpbench.reporting.standings import FILE, read_standings

#: Where methods without tuning stand beside the published ones, and the columns of the README's table.
EXPERIMENT, COMPARED = "extensions/tuning_free_regression", Path(FILE)
COLUMNS = (
    *("residual_gp", "histoftree_cart", "histoftree_cart[variant=inferred]", "histoftree_max_edge"),
    *("histoftree_max_edge[variant=inferred]", "par_dt", "private_mean"),
)
#: Columns whose setting is the best one on the test rows.
ORACLE = COLUMNS[1:-1]
#: Where ResidualGP stands beside standard learners on noisy labels, of which the one with the first-named randomiser.
RIVAL = "private_labels_regressor[learner=gaussian_process,randomizer=laplace]"


def proof(folder: Path) -> str:
    """Four rows: published numbers, claims, the method without tuning, the audit."""
    found = (ROOT / "docs" / "released_code.md").read_text(encoding="utf-8").count("\n## ")
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    error = _ratios(folder, EXPERIMENT).xs(2.0, level="epsilon")
    beside = _ratios(folder, "comparison/regression").xs(2.0, level="epsilon").iloc[0]
    default, inferred = list(COLUMNS[1:5:2]), list(COLUMNS[2:5:2])
    mutants = pd.read_csv(folder / "audit_mutants.csv", keep_default_na=False)
    applied = mutants["caught_by"][~mutants["caught_by"].str.startswith("does not apply")]
    rows = {
        "Published numbers": f"{numbers_in_words(judged_numbers(read_numbers(folder)))}; "
        "[why](results/reproduced/index.html#papers)",
        "Claims": f"{claims_in_words(claims)}; [each with its evidence](results/reproduced/index.html#papers)",
        "Without tuning": "Error relative to the best method without privacy at ε = 2: ResidualGP "
        f"{_span(error[COLUMNS[0]])}; HistOfTree, tuned on the test rows, {_span(error[default])} "
        f"({_span(error[inferred])} if trees may stay uncut); a private constant {_span(error['private_mean'])}. On "
        f"more data sets: ResidualGP {beside[COLUMNS[0]]:.1f}, a Gaussian process on labels with Laplace noise "
        f"{beside[RIVAL]:.1f}",
        "Privacy audit": f"Each of {mutants['mutant'].nunique()} kinds of planted fault is caught in "
        f"{(applied != '').sum()} of the {len(applied)} settings that it applies to; "
        f"{found} errors found in [released code](docs/released_code.md)",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())])


def _rows(folder: Path, experiment: str) -> pd.DataFrame:
    """An experiment's private methods at their best grid points."""
    table = read_standings(folder)
    return view(table[(table["experiment"] == experiment) & (table["privacy"] != NONE)], "oracle")


def _ratios(folder: Path, experiment: str) -> pd.DataFrame:
    """Errors over that of the best method without privacy, geometric mean over data sets."""
    rows = _rows(folder, experiment).assign(logarithm=lambda table: np.log(table["over_free"]))
    return np.exp(rows.pivot_table(index=["mask", "epsilon"], columns="method", values="logarithm"))


def _span(values: pd.Series | pd.DataFrame) -> str:
    """The least and the largest of some numbers."""
    ends = dict.fromkeys(f"{v:.1f}" for v in (values.min(axis=None), values.max(axis=None)))
    return " to ".join(ends)


def without_tuning(folder: Path) -> str:
    """Errors over that of the best method without privacy, geometric mean over data sets."""
    ratio = _ratios(folder, EXPERIMENT)
    cards = by_name(registered_methods(dict.fromkeys(COLUMNS)))
    titles = [
        f"{method_title(m, cards)}{'*' if m in ORACLE else ' (no tuning)' if m == COLUMNS[0] else ''}" for m in COLUMNS
    ]
    lines = [f"| mask | ε | {' | '.join(titles)} |", "|---|" + "---:|" * (1 + len(COLUMNS))]
    for (mask, epsilon), row in ratio.iterrows():
        lines.append(f"| {mask} | {epsilon:g} | {' | '.join(f'{row[m]:.2f}' for m in COLUMNS)} |")
    return "\n".join(lines)


def sweeps(folder: Path) -> str:
    """What sweeps save, from ``bench.csv``."""
    bench = pd.read_csv(folder / "bench.csv")

    def value(benchmark: str, setting: str, quantity: str) -> float:
        rows = bench[(bench["benchmark"] == benchmark) & bench["setting"].str.startswith(setting)]
        return float(rows.loc[rows["quantity"] == quantity, "value"].iloc[0])

    block = value("HistOfTree sweep", "abalone aligned", "speed-up")
    [setting] = {s for s in bench["setting"] if s.startswith("figure 4(a)")}
    points, budgets = (int(n) for n in re.findall(r"(\d+) (?:points|budgets)", setting))
    seconds = value("LPCT sweep", "figure 4(a)", "seconds of one of 25 replications")
    users = value("LPCT sweep", "figure 4(a)", "speed-up per user")
    return (
        f"  A table block of HistOfTree (abalone) is {block:.2g} times as fast as the loop; a replication of LPCT's "
        f"figure 4(a), {points * budgets:,}\n  settings in {1000 * seconds:.1g} ms, {float(f'{users:.2g}'):,.0f} times "
        "as fast as fitting each setting with every\n  user's noise (`make bench`, "
        "[`bench.csv`](results/reproduced/bench.csv))."
    )


def development(folder: Path) -> str:
    """On how many of the data sets ResidualGP was developed, and whether it is ahead on the others, too."""
    sets = catalogue.experiment(EXPERIMENT).settings["data_sets"]
    looked, kept = sets["development"], sets["conclusions"]
    rows = _rows(folder, EXPERIMENT)
    rows = rows[(rows["role"] == "held out") & rows["method"].isin(COLUMNS)]
    error = rows.pivot_table(index=["mask", "epsilon", "dataset"], columns="method", values="loss")
    ahead = int((error.idxmin(axis=1) == COLUMNS[0]).sum())
    names = " and ".join(in_print(name) for name in kept)
    return (
        f"{len(looked)} of the {len(looked) + len(kept)} data sets were used to develop ResidualGP (with "
        f"another seed), {names} were\nnot; on these it is first in {ahead} of the "
        f"{len(error)} comparisons of the table."
    )


def hours_of_everything(folder: Path) -> tuple[str, int]:
    """Return the hours of the last full run with one decimal, and its number of cores."""
    total = pd.read_csv(folder / "timing.csv").set_index("artefact").loc["total"]
    return f"{total['seconds'] / total['workers'] / 3600:.1f}", int(total["workers"])


def time(folder: Path) -> str:
    """How long the last full run took."""
    hours, cores = hours_of_everything(folder)
    return (
        f"`make everything` takes about {hours} hours on {cores} cores, without the sealed sets "
        "([per artefact](results/reproduced/timing.csv)).\n`lpbench plan` estimates any run."
    )


def library_example(folder: Path) -> str:
    """Median errors of the library example over seeds."""
    table = pd.read_csv(folder / "readme_example.csv").drop(columns="seed")
    ours, constant = table.columns
    return (
        f"Median over {len(table)} seeds: mean squared error {table[ours].median():.3f}, {constant} "
        f"{table[constant].median():.3f}\n(`python scripts/measure_readme_example.py`)."
    )


def in_words(folder: Path) -> str:
    """Claims by outcome, and numbers met under each configuration."""
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    lines = [f"- {line}." for line in lines_by_configuration(read_numbers(folder))]
    return "\n".join([f"{claims_in_words(claims)}.", "", *lines])


#: Name of a mark -> what stands between it and its end.
BLOCKS: dict[str, Callable[[Path], str]] = {
    "proof": proof,
    "the last full run": in_words,
    "without tuning": without_tuning,
    "development": development,
    "time": time,
    "sweeps": sweeps,
    "the library example": library_example,
}


def with_numbers(text: str, folder: Path) -> str:
    """The README with the numbers of a folder between its marks."""
    for name, write in BLOCKS.items():
        mark = f"<!-- numbers of {name} -->\n"
        parts = re.split(rf"(?s)(?<={mark}).*?(?=\n *<!-- end of the numbers -->)", text)
        if len(parts) != 2:
            raise ValueError(f"README.md has the mark {mark.strip()} {len(parts) - 1} times, not once")
        text = write(folder).join(parts)
    return text


def with_hours(text: str, folder: Path) -> str:
    """ARTIFACT.md with the time of the last full run in its row and head."""
    hours, cores = hours_of_everything(folder)
    text, rows = re.subn(r"(\| `make everything` \| )[\d.]+ hours", rf"\g<1>{hours} hours", text)
    text, heads = re.subn(r"(\| time on )\d+ cores", rf"\g<1>{cores} cores", text)
    if (rows, heads) != (1, 1):
        raise ValueError("ARTIFACT.md must have one row of `make everything` and one head of times")
    return text


#: What each page takes from a folder of results.
WRITERS = {"README.md": with_numbers, "ARTIFACT.md": with_hours}

if __name__ == "__main__":
    for name, write in WRITERS.items():
        write_text(write((ROOT / name).read_text(encoding="utf-8"), COMMITTED), ROOT / name)
