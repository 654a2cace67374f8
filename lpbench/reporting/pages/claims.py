"""Claims as pages show them: statement, status as word, sign and color, and each check as dots with intervals."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lpbench.analysis.claims import (
    AGREES,
    CANNOT_DECIDE,
    CONTRADICTS,
    FAILS,
    HOLDS,
    NO_VERDICT,
    UNDECIDED,
    place,
    quoted,
)
from lpbench.analysis.statistics import meaning, unit
from lpbench.reporting.claim_files import read_claims
from lpbench.reporting.pages.causes import SETTINGS
from lpbench.reporting.pages.names import label_of, sentences
from lpbench.reporting.paper import papers
from lpbench.reporting.render import in_symbols

#: Instances beyond these are not drawn: ``claims_instances.csv`` has all.
DRAWN = 4


#: Outcome of a claim -> class of its color, and a sign for those who do not see it.
LOOKS = {
    HOLDS: ("good", "✓"),
    UNDECIDED: ("open", "≈"),
    CANNOT_DECIDE: ("open", "?"),
    FAILS: ("bad", "✗"),
    NO_VERDICT: ("none", "○"),
}
#: How the instances of a check decide, by its quantifier.
ASKED = {
    "every": "The average of the instances must agree with the rule, and no instance may contradict it.",
    "each": "Each instance must agree with the rule.",
    "some": "Some instances must agree with the rule, but not all.",
    "": "The average over the instances must agree with the rule.",
}
#: The instances that contradict a sentence are drawn first.
_ORDER = (CONTRADICTS, UNDECIDED, AGREES)


class Value(NamedTuple):
    """One dot of a chart: value and interval (NaN: none); ``kind`` is "ours", "theirs" (the paper's) or a shade."""

    value: float
    low: float = math.nan
    high: float = math.nan
    kind: str = "ours"

    @property
    def whole(self) -> bool:
        """True if both ends of the interval are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def text(self) -> str:
        """Format value and interval for a label."""
        interval = f" [{self.low:.3g}, {self.high:.3g}]" if self.whole and self.low < self.high else ""
        return f"{self.value:.3g}{interval}"


@dataclass(frozen=True)
class Intervals:
    """Rows of labeled values with intervals on one axis that includes zero, for a claim's page.

    A row is (label, its dots); ``region`` is the part of the axis where the claim holds.
    """

    rows: Sequence[tuple[str, Sequence[Value]]]
    unit: str = ""
    region: tuple[float, float] = (math.nan, math.nan)  # values that agree, drawn as a band

    @property
    def band(self) -> tuple[float, float] | None:
        """Left and right end of the region on the axis, in per cent; None without one."""
        if any(map(math.isnan, self.region)):
            return None
        low, high = (self.at(v) if math.isfinite(v) else 100.0 * (v > 0) for v in self.region)
        return low, high

    @property
    def kinds(self) -> list[str]:
        """Kinds of the dots for the legend, the last one ours."""
        return sorted({v.kind for _, values in self.rows for v in values}, reverse=True)

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number on the axis, zero included."""
        numbers = [0.0, *(w for _, values in self.rows for v in values for w in v[:3] if math.isfinite(w))]
        numbers += [v for v in self.region if math.isfinite(v)]
        return min(numbers), max(numbers)

    def at(self, value: float) -> float:
        """Position of a value on the axis, in per cent of its length."""
        low, high = self.ends
        return round(3 + 94 * (value - low) / ((high - low) or 1.0), 1)


def shown_claims(folder: Path) -> list[dict[str, Any]]:
    """Read a report's claims: one dictionary a claim, in the papers' order."""
    claims = {claim.name: claim for paper in papers() for claim in paper.claims}
    contents = []
    for row in read_claims(folder):
        claim, (tone, sign) = claims.get(row["claim"]), LOOKS[row["ours"]]
        contents.append(
            {
                **{key: row[key] for key in ("paper", "claim", "reason", "depends", "counted_apart", "print")},
                "reasons": sentences(row["reason"]),
                "causes": sentences(row["cause"]),
                "artifact": label_of(row["artifact"]).replace("Table 1-", "Tables 1 to "),
                "quoted": quoted(in_symbols(row["sentence"]), row["section"]),
                "place": place(row["section"]),
                "ours": row["ours"],
                "status": {"label": row["ours"], "tone": tone, "sign": sign},
                "checks": [_check(check) for check in row["checks"]],
                "concerns": claim.concerns if claim else lambda leaf: False,
            }
        )
    return contents


def _check(row: Mapping[str, Any]) -> dict[str, Any]:
    """One check for a claim's page, from its row of verdicts with its instances and other configurations.

    Returned are its rule, outcomes by configuration, distance from the rule's border, and a chart.
    """
    low, high = row["region_low"], row["region_high"]
    bounds = " and ".join(f"{word} {v:.3g}" for word, v in (("above", low), ("below", high)) if abs(v) < math.inf)
    value = Value(row["ours"], row["ours_low"], row["ours_high"])
    dots: dict[str, list[Value]] = {}
    order = {
        p["instance"]: _ORDER.index(p["outcome"].partition(":")[0]) for p in row["points"] if p["source"] == "ours"
    }
    for point in sorted(row["points"], key=lambda p: order.get(p["instance"], len(_ORDER))):
        kind = "ours" if point["source"] == "ours" else "theirs"
        dots.setdefault(point["instance"], []).append(Value(point["value"], point["low"], point["high"], kind))
    first = next(iter(row["points"]), None)
    return {
        **{key: row[key] for key in ("rule", "changed", "points")},
        "name": row["check"],
        "reasons": sentences(row["reason"]),
        "settings": [SETTINGS.get(r["configuration"], r["configuration"]) for r in (row, *row["others"])],
        "chart": Intervals(list(dots.items())[:DRAWN], region=(low, high)) if dots else None,
        "asked": ASKED[row["quantifier"]],
        "unit": unit(first["statistic"], json.loads(first["arguments"])) if first else "",
        "drawn": meaning(first["statistic"]) if first else "",
        "outcomes": [row, *row["others"]],
        "margin": f"Our runs give {value.text}. The rule asks for a value {bounds}."
        if value.value == value.value
        else "",
    }
