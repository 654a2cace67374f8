"""Write the numbers of the committed results into the README, between its marks."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from lpbench.analysis.numbers import in_words as numbers_in_words
from lpbench.analysis.numbers import judged_numbers
from lpbench.analysis.standings import FEWEST
from lpbench.analysis.verdicts import claims_of
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.experiments import catalogue
from lpbench.files import write_text
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.number_table import lines_by_configuration, read_numbers
from lpbench.reporting.printed_names import in_print, method_title
from lpbench.reporting.standings import GAINS

#: Table of what users add, and of what the README's table shows of it: budgets and experiments with our methods.
ADDED, BUDGETS = Path(GAINS), (1.0, 4.0)
EXPERIMENTS = ("comparison/classification", "comparison/public_sample", "comparison/regression")


def proof(folder: Path) -> str:
    """Four rows: published numbers, claims, what private users add, the audit."""
    found = (ROOT / "docs" / "released_code.md").read_text(encoding="utf-8").count("\n## ")
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    mutants = pd.read_csv(folder / "audit_mutants.csv", keep_default_na=False)
    applied = mutants["caught_by"][~mutants["caught_by"].str.startswith("does not apply")]
    rows = {
        "Published numbers": f"{numbers_in_words(judged_numbers(read_numbers(folder)))}; "
        "[why](results/reproduced/index.html#papers)",
        "Claims": f"{claims_in_words(claims)}; [each with its evidence](results/reproduced/index.html#papers)",
        "Private users": "On held-out data sets "
        + ", ".join(_spans(folder))
        + "; [how](results/reproduced/index.html#findings)",
        "Privacy audit": f"Each of {mutants['mutant'].nunique()} kinds of planted fault is caught in "
        f"{(applied != '').sum()} of the {len(applied)} settings that it applies to; "
        f"{found} errors found in [released code](docs/released_code.md)",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())])


def _added(folder: Path) -> pd.DataFrame:
    """Rows of our methods in the comparisons, on held-out sets; of several masks the first."""
    table = pd.read_csv(folder / ADDED)
    table = table[(table["role"] == "held out") & table["experiment"].isin(EXPERIMENTS) & (table["mask"] == "aligned")]
    ours = {name: catalogue.experiment(name).settings["ours"] for name in EXPERIMENTS}
    mine = [m in ours[e] for m, e in zip(table["method"], table["experiment"], strict=True)]
    place = ["task", "inputs", "method", "epsilon"]  # of two experiments that without a public sample at hand
    return table[mine].sort_values([*place[:3], "experiment"]).drop_duplicates(place, keep="last")


def _spans(folder: Path) -> list[str]:
    """Say what users add by task, of the methods compared that read a public sample."""
    table, found = _added(folder), []
    compared = {name: catalogue.experiment(name).settings["compared"] for name in EXPERIMENTS[:2]}
    for experiment, method in compared.items():
        rows = table[(table["experiment"] == experiment) & (table["method"] == method)]
        low, high = (f"{100 * v:.0f}" for v in (rows["gain"].min(), rows["gain"].max()))
        title, task = method_title(method, catalogue.methods()), rows["task"].iloc[0]
        budgets = f"ε {rows['epsilon'].min():g} to {rows['epsilon'].max():g}"
        sets = f"{rows['sets'].max()} sets{_named(rows.iloc[0])}"
        found.append(f"{title}'s users add {low} to {high} % to public data ({task}, {sets}, {budgets})")
    return found


def _named(row: pd.Series) -> str:
    return f": {', '.join(map(in_print, row['names'].split()))}" if row["sets"] < FEWEST else ""


def without_tuning(folder: Path) -> str:
    """Four lines of each of our methods on held-out sets, and the number derived from them, with its interval."""
    heads = ("task", "inputs", "method", "ε", "sets", "constant", "public only", "private", "users add", "gain")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|" + "---:|" * 7]
    for row in _added(folder).itertuples():
        if row.epsilon in BUDGETS:
            derived = f"{100 * row.gain:.0f} % [{100 * row.low:.0f}, {100 * row.high:.0f}]"
            four = ["–" if v != v else f"{v:.2f}" for v in (row.constant, row.public, row.private)]
            both = [derived, "–"] if row.beside == "public" else ["–", derived]
            place = row.task, row.inputs, method_title(row.method, catalogue.methods()), f"{row.epsilon:g}"
            lines.append(f"| {' | '.join([*place, str(row.sets), *four, *both])} |")
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
