"""The field: our methods among rivals of the literature, on data sets that no choice was made on."""

from lpbench.papers.field.advice import read_advice
from lpbench.papers.field.outputs import write_outputs
from lpbench.papers.field.texts import AGAINST_WHOM
from lpbench.reporting.paper import Output, Page, Paper

#: Experiments that rank methods and give advice.
EXPERIMENTS = tuple(
    f"field/{name}"
    for name in (
        *("regression", "public_sample", "classification", "unbalanced"),
        *("sealed_regression", "sealed_classification", "full_regression", "full_classification"),
    )
)
_RANKED = tuple(name for name in EXPERIMENTS if name != "field/unbalanced")

PAPER = Paper(
    name="field",
    title="The field",
    order=210,
    methods=("private_mean", "private_majority", "dt", "ct_w"),
    leaderboard=("field/regression", "field/classification", "field/public_sample"),
    outputs={name: Output(write_outputs) for name in _RANKED},
    advice=dict.fromkeys(_RANKED, read_advice),
    pages=(Page(name="field", title="The field: against whom?", experiments=EXPERIMENTS, lead=AGAINST_WHOM),),
)
