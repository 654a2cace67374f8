"""Beyond the papers: floors, methods without tuning, ablations and sensitivity, in experiments of our own."""

from lpbench.paths import ROOT
from lpbench.reporting.paper import Page, Paper

PAPER = Paper(
    name="extensions",
    title="Beyond the papers",
    order=200,
    pages=(
        Page(
            name="tuning_free",
            title="Without tuning",
            # the comparisons first, then what each ingredient is worth
            experiments=("extensions/tuning_free", "extensions/ablation"),
            notes=ROOT / "docs" / "methods_notes.md",
        ),
    ),
)
