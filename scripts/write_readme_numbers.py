"""Write the numbers of the committed results into the README, between its two marks."""

from __future__ import annotations

from lpbench.files import write_text
from lpbench.paths import ROOT
from lpbench.reporting.headlines import in_words

FIRST, LAST = "<!-- numbers of the last full run -->\n", "<!-- end of the numbers -->\n"


def with_numbers(text: str, numbers: str) -> str:
    """The README with other numbers between its marks."""
    before, _, rest = text.partition(FIRST)
    _, _, after = rest.partition(LAST)
    return f"{before}{FIRST}{numbers}\n{LAST}{after}"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    write_text(with_numbers(readme.read_text(encoding="utf-8"), in_words(ROOT / "results" / "reproduced")), readme)
