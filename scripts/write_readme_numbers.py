"""Write the numbers of the committed results into the README, between its marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.experiments import catalogue
from lpbench.experiments.plan import by_name, registered_methods
from lpbench.files import write_text
from lpbench.paths import ROOT
from lpbench.reporting.cards import in_print, method_title
from lpbench.reporting.headlines import in_words

#: Where methods without tuning stand beside the published ones, and the columns of the README's table.
COMPARED = Path("extensions/tuning_free_regression/summary.csv")
COLUMNS = ("residual_gp", "histoftree_cart", "histoftree_max_edge", "par_dt", "private_mean")
#: Columns whose setting is the best one on the test rows.
WITH_HINDSIGHT = COLUMNS[1:4]
#: The entry that the README begins with.
EXAMPLE = ("abalone", "aligned", "histoftree_cart", 2.0)


def example(folder: Path) -> str:
    """What one method is worth with and without hindsight, beside a constant."""
    dataset, mask, method, epsilon = EXAMPLE
    table = pd.read_csv(folder / COMPARED).set_index(["dataset", "mask", "method", "epsilon", "selection"])["mean"]
    best, fixed = (table[dataset, mask, method, epsilon, s] for s in ("oracle", "tuning_free"))
    floor = table[dataset, mask, "private_mean", epsilon, "oracle"]
    return (
        f"One result: on {dataset}, where all users protect the same features (`{mask}`) with ε = {epsilon:g}, "
        f"HistOfTree's best grid point\nwith hindsight has a mean squared error of {best:.3g}, a setting fixed without "
        f"test rows {fixed:.3g}, and the private mean, which looks\nat no feature, {floor:.3g}."
    )


def without_tuning(folder: Path) -> str:
    """Errors over that of the best non-private tree, geometric mean over data sets."""
    table = pd.read_csv(folder / COMPARED)
    table = table[table["selection"] == "oracle"]
    error = table.pivot_table(index=["mask", "epsilon", "dataset"], columns="method", values="mean")
    ratio = np.exp(np.log(error.div(error["dt"], axis=0)).groupby(level=["mask", "epsilon"]).mean())
    cards = by_name(registered_methods(dict.fromkeys(COLUMNS)))
    titles = [
        f"{method_title(m, cards)}{'*' if m in WITH_HINDSIGHT else ' (no tuning)' if m == COLUMNS[0] else ''}"
        for m in COLUMNS
    ]
    lines = [f"| features | ε | {' | '.join(titles)} |", "|---|" + "---:|" * (1 + len(COLUMNS))]
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
    sets = catalogue.experiment(COMPARED.parent.as_posix()).settings["data_sets"]
    looked, kept = sets["development"], sets["conclusions"]
    table = pd.read_csv(folder / COMPARED)
    table = table[(table["selection"] == "oracle") & table["dataset"].isin(kept) & table["method"].isin(COLUMNS)]
    error = table.pivot_table(index=["mask", "epsilon", "dataset"], columns="method", values="mean")
    ahead = int((error.idxmin(axis=1) == COLUMNS[0]).sum())
    names = " and ".join(in_print(name) for name in kept)
    return (
        f"{len(looked)} of the {len(looked) + len(kept)} data sets were looked at while ResidualGP was developed (with "
        f"another seed); {names} were\nnot: there it has the smallest error of the table's methods in {ahead} of "
        f"{len(error)} cells."
    )


def time(folder: Path) -> str:
    """How long the last full run took."""
    table = pd.read_csv(folder / "timing.csv").set_index("artefact")
    total = table.loc["total"]
    hours = total["seconds"] / total["workers"] / 3600
    return (
        f"The last run of the papers and the floor took {hours:.1f} hours with {total['workers']:.0f} workers, "
        "other work of the machine included\n([per artefact](results/reproduced/timing.csv); "
        "`lpbench plan` says what another will take)."
    )


#: Name of a mark -> what stands between it and its end.
BLOCKS: dict[str, Callable[[Path], str]] = {
    "example": example,
    "the last full run": in_words,
    "without tuning": without_tuning,
    "development": development,
    "time": time,
    "sweeps": sweeps,
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


if __name__ == "__main__":
    readme = ROOT / "README.md"
    write_text(with_numbers(readme.read_text(encoding="utf-8"), ROOT / "results" / "reproduced"), readme)
