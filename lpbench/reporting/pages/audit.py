"""The privacy audit's files ``audit.json`` and ``audit.md``, and the content of its page."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.disk import write_text
from lpbench.experiments import catalog
from lpbench.members import member
from lpbench.reporting.pages.leaderboard import PROTECTS
from lpbench.reporting.paper import papers
from lpbench.reporting.printed_names import card_of, method_title
from lpbench.reporting.render import render

#: Findings of the last audit, from which its page is made.
AUDIT_FILE = "audit.json"
#: Tables that other commands leave beside it.
FURTHER = {"mutants": "audit_mutants.csv", "libraries": "libraries.csv", "power": "power.csv"}
#: How a row of a mutant begins that cannot be made of a method.
NOT_APPLICABLE = "does not apply"
#: Verdicts on a library's randomizer that keeps its claim and that does not, and how a note begins that says what its
#: claim is not about.
WITHIN, EXCEEDS, NOT_COVERED = "within", "exceeds", "the claim rests on"


def write_audit(findings: Mapping, folder: Path) -> None:
    """Write ``audit.json`` and ``audit.md`` from :func:`lpbench.audit.table.findings`."""
    write_text(json.dumps(findings, indent=1, ensure_ascii=False) + "\n", folder / AUDIT_FILE)
    write_text(render("audit.md.j2", **audit_page(folder)), folder / "audit.md")


def audit_page(folder: Path) -> dict:
    """Collect the page's content: findings and, of each released code, the deviations that bear on privacy."""
    released = {
        p.released.repository: [
            (d.place, d.commit, d.fact, d.loss, d.known_bad) for d in p.released.deviations if d.loss
        ]
        for p in papers()
        if p.released
    }
    findings: dict = json.loads((folder / AUDIT_FILE).read_text(encoding="utf-8"))
    tables = {name: _table(folder / file) for name, file in FURTHER.items()}
    verdict = _verdict(findings, tables["mutants"])
    tables["mutants"] = _by_mutant(tables["mutants"])
    rows = tables["libraries"][1] if tables["libraries"] else []
    for row in rows:  # no verdict where a claim is not about the pair that was tried
        if row[-1].startswith(NOT_COVERED) and row[-2] == EXCEEDS:
            row[-2] = "not covered by the claim"
    if tables["libraries"]:
        tables["libraries"] = tables["libraries"][0], [row for row in rows if row[-2] != WITHIN]
    methods = _in_words(findings["methods"])
    settings = [member(row[0]).params for row in findings["methods"]["rows"]]
    return {
        "title": "Privacy audit",
        "audit": findings | {"methods": methods},
        "as_listed": [row for row, given in zip(methods["rows"], settings, strict=True) if not given],
        "in_settings": [row for row, given in zip(methods["rows"], settings, strict=True) if given],
        "verdict": verdict,
        "leaks": _leaks(released, tables["libraries"]),
        "released": released,
        "released_heads": ("where", "commit", "what the file does", "privacy loss", "rebuilt as"),
        "further": tables,
        "audited_libraries": len(rows),
        "files": [n for n in ("audit.md", AUDIT_FILE, "audit.csv", *FURTHER.values()) if (folder / n).is_file()],
    }


def _verdict(findings: Mapping, mutants: tuple[list[str], list[list[str]]] | None) -> str:
    """Summarize in sentences how many faulty mechanisms the audit catches and how many correct ones it flags.

    ``findings`` has "bad" and "good" tables, ``mutants`` is (heads, rows) of planted faults or None.
    """
    bad, good = findings["bad"]["rows"], findings["good"]["rows"]
    caught, accused = (sum(row[-1] == "yes" for row in rows) for rows in (bad, good))
    text = f"The audit catches {caught} of {len(bad)} mechanisms known to be wrong"
    text += f" and accuses {accused or 'none'} of {len(good)} correct mechanisms."
    if mutants:
        applied = [row[-1] for row in mutants[1] if not row[-1].startswith(NOT_APPLICABLE)]
        kinds, applicable, of = len({row[1] for row in mutants[1]}), sum(map(bool, applied)), len(applied)
        share = f"all {of}" if applicable == of else f"{applicable} of {of}"
        text += f" The {kinds} planted faults are caught in {share} pairs of a fault and a method's setting."
    return text


def _leaks(released: Mapping[str, Sequence], libraries: tuple[list[str], list[list[str]]] | None) -> str:
    """Summarize in one sentence whose released code spends more than it promises; empty if none does.

    ``released`` maps a repository to rows (..., loss, commit), ``libraries`` is (heads, rows) of audited libraries or
    None.
    """
    parts = [
        f"{repository} in {count} places"
        for repository, rows in released.items()
        if (count := sum(not loss.startswith("none") for *_, loss, _ in rows))
    ]
    leaking: dict[str, dict[str, None]] = {}
    for library, _, name, *_, verdict, _ in libraries[1] if libraries else []:
        if verdict == EXCEEDS:
            leaking.setdefault(library, {})[name] = None
    parts += [f"{library} ({'; '.join(names)})" for library, names in leaking.items()]
    return f"Released code that spends more than the stated ε: {', '.join(parts)}." if parts else ""


def _by_mutant(mutants: tuple[list[str], list[list[str]]] | None) -> tuple[list[str], list[list[str]]] | None:
    """Return (heads, rows), a row for each kind of mutant: methods that have it, how many are caught, by which checks.

    None without mutants.
    """
    if not mutants:
        return None
    rows = []
    for name in dict.fromkeys(mutant for _, mutant, _ in mutants[1]):
        caught = [by for _, mutant, by in mutants[1] if mutant == name and not by.startswith(NOT_APPLICABLE)]
        checks = Counter(filter(None, caught))
        first = ", ".join(f"{check} {count}" for check, count in sorted(checks.items()))
        rows.append([name.replace("_", " "), str(len(caught)), str(sum(map(bool, caught))), first])
    return ["broken promise", "methods", "caught", "first caught by (check, number of methods)"], rows


def _in_words(table: Mapping) -> dict:
    """The table of methods in words: printed names, and what each protects in the place of its privacy model."""
    cards = catalog.methods()
    titles = [method_title(row[0], cards) for row in table["rows"]]
    rows = []
    for title, (name, *cells) in zip(titles, table["rows"], strict=True):
        card = card_of(name, cards) if titles.count(title) > 1 else None
        rows.append([f"{title}, {card.task}" if card else title, *cells])
    k = table["heads"].index("model")
    heads = ["protects" if head == "model" else head for head in table["heads"]]
    for row in rows:
        model, comma, unit = row[k].partition(",")
        row[k] = f"{PROTECTS.get(model, model)}{comma}{unit}"
    return {"heads": heads, "rows": rows}


def _table(path: Path) -> tuple[list[str], list[list[str]]] | None:
    """Heads and rows of a CSV file as texts; None without the file, or without rows."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame()
    return ([h.replace("_", " ") for h in table], table.to_numpy().tolist()) if len(table) else None
