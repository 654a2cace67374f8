"""Local randomizers of other libraries, audited by sampling: the table of all, and its page.

``python -m scripts.audits.libraries`` writes both anew; with a library (or ``library/name``) and an epsilon it prints
their bounds, and fails where one exceeds epsilon.

Each entry of :data:`RANDOMIZERS` calls the library as its documentation says and turns a report into numbers. Reports
that name a hash function (local hashing, sketches, RAPPOR) become what the report says about each of the two values
compared, by the public hash: a function of the report alone, so that a lower bound on its loss bounds the report's.
"""

import csv
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from lpbench.audit import Message, Randomizer
from lpbench.audit.black_box import lower_bound
from lpbench.errors import ConfigurationError
from lpbench.paths import COMMITTED, ROOT
from lpbench.privacy import GRR
from lpbench.seeds import Streams

# importing the modules of the libraries registers their randomizers
from scripts.audits import for_diffprivlib, for_multi_freq_ldpy, for_opendp, for_pure_ldp  # noqa: F401
from scripts.audits.registry import RANDOMIZERS

LIBRARIES = ("diffprivlib", "opendp", "pure-ldp", "multi-freq-ldpy")
EPSILONS = (0.5, 1.0, 4.0)
#: Reports of each of the two values, and the probability that a bound exceeds the loss.
SAMPLES, FAILURE = 10_000, 1e-6
#: Where table and page lie.
TABLE, PAGE = COMMITTED / "libraries.csv", ROOT / "docs" / "library_audit.md"
#: Section about models, of which one run each is reported.
MODELS = Path(__file__).with_name("models.md")
#: Clients of the libraries that the table leaves out, and why.
NOT_ADAPTED = {
    "diffprivlib, Vector": "returns a perturbed objective function, which still contains the data. Only the "
    "function's minimizer is private",
    "diffprivlib, transforms": "change the type of the values, not the noise",
    "opendp, aggregates and queryables": "release statistics of a whole table, not one user's report",
    "pure-ldp, ZeroOracle": "sends the constant 0",
    "pure-ldp, heavy hitters (PEM, TreeHistogram, SFP)": "send prefixes and fragments of words through a frequency "
    "oracle that the table contains. TreeHistogram and SFP split epsilon evenly over two reports",
    "multi-freq-ldpy, further reports of longitudinal protocols": "a client keeps no state, so each report spends new "
    "budget. The caller has to memoize reports to stay within eps_perm",
}
#: Randomizers of which the table compares values that their guarantee does not cover (see their notes).
NOT_COVERED = frozenset({"RS+FD[GRR]", "RS+FD[UE-z]", "RS+FD[UE-r]", "RS+FD[ADP]"})
#: Explanation of the mark of their bounds.
_OUTSIDE = (
    " *(above)* marks a bound above ε that refutes nothing: the claim does not cover the two values (see the notes)."
)


def audit_library(key: str, epsilon: float, samples: int = SAMPLES, seed: int = 0) -> dict[str, Any]:
    """Bound the loss of a library's randomizer from below, between two values: a line of the table.

    ``verdict`` is "within" (the sample does not contradict the claim), "exceeds", or "refused" (the library does not
    take this epsilon). OpenDP draws from the operating system and multi-freq-ldpy by compiled code with a generator of
    its own, so that their bounds differ slightly from run to run.

    Raises
    ------
    ConfigurationError
        If the key is unknown or the library is not installed.
    """
    if key not in RANDOMIZERS:
        raise ConfigurationError(f"library={key!r} must be one of {', '.join(RANDOMIZERS)}")
    subject = RANDOMIZERS[key]
    try:
        report = subject.make(epsilon)
    except ImportError as error:
        raise ConfigurationError(
            f"{subject.library} cannot be imported ({error}): pip install '.[audit-libraries]' in an environment of "
            "its own"
        ) from error
    except ValueError as error:
        report, refusal = None, f"the library refuses: {error}"
    line = {"library": subject.library, "version": version(subject.library), "name": subject.name,
            "epsilon": epsilon, "delta": subject.delta}  # fmt: skip
    if report is None:
        return line | {"lower_bound": 0.0, "samples": 0, "failure": FAILURE, "verdict": "refused", "note": refusal}

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        rng = streams.generator("library")
        with _seeded(int(rng.integers(2**31))):
            return np.array([np.ravel(report(value, rng)) for _ in range(n)], dtype=np.float64)

    message = Message(GRR(epsilon, 2), np.arange(2), send)
    randomizer = Randomizer("ldp", epsilon, [message], 2, delta=subject.delta)
    bound = lower_bound(randomizer, samples, Streams(seed).child("library", name=key), FAILURE).bound
    verdict = "exceeds" if bound > epsilon else "within"
    return line | {"lower_bound": bound, "samples": samples, "failure": FAILURE, "verdict": verdict,
                   "note": subject.note}  # fmt: skip


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that these libraries draw from, and restore them."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


def page(rows: list[dict[str, str]]) -> str:
    """Return the page of the table's lines in Markdown."""
    names = list(dict.fromkeys((row["library"], row["version"], row["name"]) for row in rows))
    cells = {(row["library"], row["name"], float(row["epsilon"])): row for row in rows}
    lines = [
        "# Randomizers of libraries",
        "",
        "This page gives lower bounds on the privacy loss of local randomizers (four libraries) and of models (two",
        f"libraries). A bound for a randomizer comes from {SAMPLES} reports of each of two values. Such a bound",
        f"exceeds the true loss with probability at most {FAILURE:g}. A bound below the claimed ε does not contradict",
        "the claim. A bold bound is above the claimed ε and refutes the claim." + _OUTSIDE * any(map(_outside, rows)),
        "Reports are compared in single precision, so leaks by rounding errors of double precision are not detected. A",
        "bound holds at the δ in brackets after the randomizer's name, or at δ = 0 if there is none.",
        "`python -m scripts.audits.libraries` rewrites the tables and this page;",
        "`python -m scripts.audits.libraries LIBRARY 1` prints a library's bounds at ε = 1. Both commands need",
        "`pip install '.[audit-libraries]'` in a separate environment, because the libraries need older versions of",
        "scikit-learn and xxhash.",
    ]
    for library, release in dict.fromkeys(key[:2] for key in names):
        lines += ["", f"## {library} {release}", ""]
        lines += ["| randomizer | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |"]
        lines += ["| --- |" + " --- |" * len(EPSILONS)]
        for name in (name for of, _, name in names if of == library):
            bounds = " | ".join(_cell(cells[library, name, epsilon]) for epsilon in EPSILONS)
            delta = float(cells[library, name, EPSILONS[0]]["delta"])
            lines.append(f"| {name}{f' (δ = {delta:g})' * (delta > 0)} | {bounds} |")
    lines += ["", "## Notes", "", *_notes(rows)]
    lines += ["", "## Not in the table", ""] + [f"- {name}: {reason}." for name, reason in NOT_ADAPTED.items()]
    return "\n".join(lines) + "\n" + MODELS.read_text(encoding="utf-8")


def note_of(row: dict[str, str]) -> str:
    """Return the note to a line of the table, without its full stop: the registered note, else why it was refused."""
    refused = row["verdict"] == "refused"
    return (RANDOMIZERS[f"{row['library']}/{row['name']}"].note or (row["note"] if refused else "")).rstrip(".")


def _notes(rows: list[dict[str, str]]) -> list[str]:
    """Return one line for each note, with the randomizers that share it; their common ending is named once."""
    by_note: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if note := note_of(row):
            by_note.setdefault((row["library"], note), []).append(row["name"])
    lines = []
    for (library, note), repeated in by_note.items():
        names = list(dict.fromkeys(repeated))
        endings = {name.partition(", ")[2] for name in names}
        if len(names) > 1 and len(endings) == 1 and endings != {""}:
            lines.append(f"- {library}, {len(names)} rows named *{endings.pop()}*: {note}.")
        else:
            lines.append(f"- {library}, {', '.join(names)}: {note}.")
    return lines


def _cell(row: dict[str, str]) -> str:
    if row["verdict"] == "refused":
        return "refused"
    bound = f"{float(row['lower_bound']):.2f}"
    if row["verdict"] != "exceeds":
        return bound
    return f"{bound} (above)" if _outside(row) else f"**{bound}**"


def _outside(row: dict[str, str]) -> bool:
    """Return True for a bound above epsilon between values that the claim does not cover."""
    return row["verdict"] == "exceeds" and row["name"] in NOT_COVERED


def main(arguments: Sequence[str]) -> int:
    """Print what is named, or write table and page of everything; returns the exit code."""
    if arguments:
        name, epsilon = arguments[0], float(arguments[1]) if arguments[1:] else 1.0
        keys = [key for key in RANDOMIZERS if key.startswith(f"{name}/")] if name in LIBRARIES else [name]
        lines = [audit_library(key, epsilon) for key in keys]
        for line in lines:
            print(" ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in line.values()))
        return int(any(line["verdict"] == "exceeds" for line in lines))
    tasks = [(key, epsilon) for key in RANDOMIZERS for epsilon in EPSILONS]
    rows = Parallel(n_jobs=2, batch_size=1)(delayed(audit_library)(*task) for task in tasks)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in row.values()] for row in rows)
    with TABLE.open(encoding="utf-8", newline="") as file:
        PAGE.write_text(page(list(csv.DictReader(file))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ConfigurationError as error:
        sys.exit(str(error))
