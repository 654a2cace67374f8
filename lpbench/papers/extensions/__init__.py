"""Our own experiments: constant baselines, tuning-free methods, ablations and sensitivity."""

from lpbench.papers.extensions.attack import shown_attack, write_attack
from lpbench.papers.extensions.equivalence import draw_equivalence
from lpbench.papers.extensions.texts import UNDER_ATTACK, WITHOUT_TUNING
from lpbench.reporting.paper import Output, Page, Paper

PAPER = Paper(
    name="extensions",
    title="Beyond the papers",
    order=200,
    # references come last in every table
    methods=("private_mean", "private_majority", "label_dt", "dt", "ct_w"),
    leaderboard=(
        *("extensions/tuning_free_regression", "extensions/tuning_free_classification"),
        *("field/regression", "field/classification", "extensions/floor", "extensions/floor_classification"),
    ),
    baselines=("extensions/floor", "extensions/floor_classification"),
    outputs={
        f"extensions/tuning_free_{name}": Output(draw_equivalence)
        for name in ("figure4", "figure5", "figure6", "simulation")
    }
    | {f"extensions/attack_{task}": Output(write_attack) for task in ("regression", "classification")},
    text_tables={f"extensions/attack_{task}": shown_attack for task in ("regression", "classification")},
    pages=(
        Page(
            name="tuning_free",
            title="Without tuning",
            # the comparisons first, then what each ingredient is worth
            experiments=(
                *("extensions/tuning_free_regression", "extensions/tuning_free_classification"),
                *("extensions/tuning_free", "extensions/ablation"),
            ),
            lead=WITHOUT_TUNING,
        ),
        Page(
            name="under_attack",
            title="Under attack",
            experiments=("extensions/attack", "extensions/drift"),
            lead=UNDER_ATTACK,
        ),
    ),
)
