"""The page of the table of libraries' randomizers."""

from __future__ import annotations

from lpbench.audit.adapters.table import EPSILONS, FAILURE, SAMPLES

#: Clients of the libraries that the table leaves out, and why.
NOT_ADAPTED = {
    "diffprivlib, Vector": "returns a perturbed objective function, which still holds the data: what is private is its "
    "minimiser, after training",
    "diffprivlib, transforms": "change the type of the values, not the noise",
    "opendp, aggregates and queryables": "release statistics of a whole table, not one user's report",
    "pure-ldp, ZeroOracle": "sends the constant 0",
    "pure-ldp, heavy hitters (PEM, TreeHistogram, SFP)": "send prefixes and fragments of words by one of the oracles "
    "of the table, TreeHistogram and SFP with half of epsilon for each of two reports",
    "multi-freq-ldpy, further reports of longitudinal protocols": "the library's clients memorise nothing, so that a "
    "second report is a first one of another draw; eps_perm is a promise of the caller's memoisation",
}
#: Randomizers of which the table compares values that their guarantee does not cover (see their notes).
NOT_COVERED = frozenset({"RS+FD[GRR]", "RS+FD[UE-z]", "RS+FD[UE-r]", "RS+FD[ADP]"})


def page(rows: list[dict[str, str]]) -> str:
    """Return the page of the table in Markdown.

    Parameters
    ----------
    rows : list of dict
        Lines of the file that :func:`write_csv` wrote.
    """
    names = list(dict.fromkeys((row["library"], row["version"], row["name"]) for row in rows))
    cells = {(row["library"], row["name"], float(row["epsilon"])): row for row in rows}
    delta = {key: cells[key[0], key[2], EPSILONS[0]]["delta"] for key in names}
    lines = [
        "# Randomizers of libraries",
        "",
        "Lower bounds on the loss of the local randomizers of four libraries, between two values, at three claimed",
        f"budgets: {SAMPLES} reports of each value, each bound wrong with probability {FAILURE:g} at most. A bound",
        "below the claim contradicts nothing; one above it, in bold, refutes the guarantee. (above): larger than the",
        "claim between two values that it does not cover, see the notes. Noise is compared as numbers of single",
        "precision, so that rounding errors of double precision are not detected. Where delta > 0",
        "it is what was asked for, and the bound is on epsilon at that delta. `python -m lpbench.audit.adapters",
        "results/reproduced/libraries.csv docs/library_audit.md` makes the table and this page anew, and `lpbench",
        "audit --library LIBRARY --epsilon 1` a column of it, after `pip install 'lpbench[audit-libraries]'` in an",
        "environment of its own: the libraries need older versions of scikit-learn and xxhash than lpbench is locked",
        "to.",
        "",
        "| library | randomizer | delta | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |",
        "| --- | --- | --- |" + " --- |" * len(EPSILONS),
    ]
    for library, release, name in names:
        shown = [_cell(cells[library, name, epsilon]) for epsilon in EPSILONS]
        lines.append(f"| {library} {release} | {name} | {delta[library, release, name]} | " + " | ".join(shown) + " |")
    notes = {(row["library"], row["name"]): row["note"] for row in rows if row["note"]}
    lines += ["", "## Notes", ""] + [
        f"- {library}, {name}: {note.rstrip('.')}." for (library, name), note in notes.items()
    ]
    lines += ["", "## Not in the table", ""] + [f"- {name}: {reason}." for name, reason in NOT_ADAPTED.items()]
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, str]) -> str:
    if row["verdict"] == "refused":
        return "refused"
    bound = f"{float(row['lower_bound']):.2f}"
    if row["verdict"] != "exceeds":
        return bound
    return f"{bound} (above)" if row["name"] in NOT_COVERED else f"**{bound}**"
