"""Runs of a paper: its totals, pages and claims, from the report of a results folder."""

import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis.claims import CANNOT_DECIDE, FAILS, HOLDS, NO_VERDICT, OUTCOMES, UNDECIDED
from lpbench.analysis.numbers import in_words, judged_numbers
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.digest import folder_hash, hash_of
from lpbench.reporting.claim_files import VERDICTS, read_claims
from lpbench.reporting.number_table import read_numbers
from lpbench.reporting.paper import paper_of
from lpbench.tracking.artifacts import counted
from lpbench.tracking.run import CLAIM, PAPER, Run

#: Outcome of a claim -> metric that counts such claims.
_COUNTED = {
    HOLDS: "claims_hold",
    UNDECIDED: "claims_undecided",
    CANNOT_DECIDE: "claims_cannot_decide",
    FAILS: "claims_fail",
    NO_VERDICT: "claims_no_verdict",
}
#: Numbers of a check that become metrics.
_CHECKED = ("ours", "ours_low", "ours_high", "published", "power", "stability", "replications")
_PAGES = ("{0}.html", "index.html", "report.md", "style.css", "page.js", "numbers.svg")


class PaperRuns:
    """The run of a paper as one results folder has it, and those of its claims."""

    alone, written = False, math.inf

    def __init__(self, name: str, results: Path, folder: str = ""):
        self.paper = paper_of(name)
        within = results / name
        #: Folder of the report; that of a user's paper lies within the results.
        self.report = within if (within / f"{VERDICTS}.csv").is_file() else results
        self.name = f"{folder}/{name}" if folder else name

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """Judged numbers of the paper."""
        numbers = read_numbers(self.report)
        return judged_numbers(numbers[numbers["artifact"].str.startswith(f"{self.paper.name}/")])

    @cached_property
    def decided(self) -> list[dict[str, Any]]:
        """Claims of the paper with the verdicts of their checks."""
        is_decided = (self.report / f"{VERDICTS}.csv").is_file()
        return [c for c in (read_claims(self.report) if is_decided else ()) if c["paper"] == self.paper.letter]

    @property
    def pages(self) -> list[tuple[Path, str | None]]:
        """Pages of the report that are about the paper."""
        files = [self.report / page.format(self.paper.name) for page in _PAGES]
        files += [self.report / "claims" / f"{claim['claim']}.html" for claim in self.decided]
        return [
            (file, f"pages/{file.parent.name}" if file.parent.name == "claims" else "pages")
            for file in files
            if file.is_file()
        ]

    @property
    def digest(self) -> str:
        """Hash of the content of the paper's runs, by which outdated ones are found."""
        texts = [self.name, self.numbers.to_csv(index=False), str(self.decided)]
        return hash_of([*texts, *(folder_hash(path.parent, path.name) for path, _ in self.pages)])

    @property
    def count(self) -> int:
        """Number of runs below that of the paper."""
        return len(self.decided)

    @property
    def parent(self) -> Run:
        """The run of the paper."""
        claims = pd.DataFrame(self.decided)
        # sentences of later origin are in the list, and in no count
        outcomes = [claim["ours"] for claim in self.decided if not claim["counted_apart"]]
        values: dict[str, Any] = counted(self.numbers)
        values |= {key: outcomes.count(word) for word, key in _COUNTED.items()} if outcomes else {}
        parts = [f"{values['equivalent']} of {values['compared']} equivalent"] if "equivalent" in values else []
        parts += [f"{values['claims_hold']} of {len(outcomes)} claims hold"] if outcomes else []
        page = self.report / f"{self.paper.name}.html"
        page = page if page.is_file() else self.report / "index.html"
        return Run(
            self.name,
            PAPER,
            outcome=", ".join(parts),
            tags={"lpbench.artifact": self.name},
            params={"paper": self.paper.name},
            metrics=[(key, value, 0) for key, value in values.items()],
            paragraphs=[
                f"**{self.paper.title}**",
                f"**{in_words(self.numbers)}.**" if len(self.numbers) else "",
                f"**{claims_in_words(claims)}.**" if len(claims) else "",
                f"Page: [{page}]({page.resolve().as_uri()}), also under Artifacts in `pages`.",
            ],
            files=self.pages,
            tables={"numbers": self.numbers, "claims": claims.drop(columns="checks", errors="ignore")},
        )

    def below(self) -> Iterator[Run]:
        """Yield the run of each claim, with what each check that decides says."""
        for claim in self.decided:
            checks = claim["checks"]
            values = [(f"{c['check']}/{key}", c[key], 0) for c in checks for key in _CHECKED]
            counts = [c for c in checks if c["counts"]] or checks
            weakest = max(counts, key=lambda c: (OUTCOMES.index(c["ours_outcome"]), -c["power"]))
            rules = [
                f"- {c['check']}: {c['rule']} In print {c['published_outcome']}, here {c['ours_outcome']}."
                for c in checks
            ]
            yield Run(
                claim["claim"],
                CLAIM,
                outcome=claim["ours"],
                tags={
                    "lpbench.claim": claim["claim"],
                    "lpbench.counted_apart": "yes" if claim["counted_apart"] else "no",
                    "lpbench.in_print": claim["print"],
                    "lpbench.artifact": f"{self.paper.name}/{claim['artifact']}",
                },
                params={"claim": claim["claim"], "in_print": claim["print"], "here": claim["ours"]},
                metrics=[(key, weakest[key], 0) for key in _CHECKED] + values,
                paragraphs=[f"“{claim['sentence']}”", "\n".join(rules), claim["reason"], claim["cause"]],
            )
