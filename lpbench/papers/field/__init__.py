"""The field: our methods among rivals of the literature, on data sets that no choice was made on."""

from lpbench.papers.field.advice import read_advice, read_choices
from lpbench.papers.field.intervals import read_intervals, write_intervals
from lpbench.papers.field.outputs import write_outputs
from lpbench.papers.field.texts import AGAINST_WHOM, OF_CLASSES
from lpbench.reporting.paper import Output, Page, Paper

#: Experiments of numbers and of classes, each with a page of its own.
NUMBERS = tuple(
    f"field/{name}" for name in ("regression", "public_sample", "intervals", "sealed_regression", "full_regression")
)
CLASSES = tuple(
    f"field/{name}" for name in ("classification", "unbalanced", "sealed_classification", "full_classification")
)
#: Those that rank methods and give advice.
_RANKED = tuple(name for name in (*NUMBERS, *CLASSES) if name not in ("field/unbalanced", "field/intervals"))

PAPER = Paper(
    name="field",
    title="The field",
    order=210,
    methods=("private_mean", "private_majority", "dt", "ct_w"),
    leaderboard=("field/regression", "field/classification", "field/public_sample"),
    outputs={name: Output(write_outputs) for name in _RANKED},
    drawings={"field/intervals": write_intervals},
    text_tables={"field/intervals": read_intervals},
    advice=dict.fromkeys(_RANKED, read_advice),
    choices=dict.fromkeys(("field/regression", "field/public_sample", "field/classification"), read_choices),
    pages=(
        Page(name="field", title="The field: against whom?", experiments=NUMBERS, lead=AGAINST_WHOM),
        Page(name="field_classes", title="The field, classes", experiments=CLASSES, lead=OF_CLASSES),
    ),
)
