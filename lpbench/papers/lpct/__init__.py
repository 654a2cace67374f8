"""LPCT (JMLR 2024): locally private classification trees with public data; letter L."""

from lpbench.papers.lpct import claims_figures, claims_tables
from lpbench.papers.lpct.causes import BOUNDS, CAUSES, INTERPRETATIONS, TOLERANCES
from lpbench.papers.lpct.deviations import DEVIATIONS, REPOSITORY
from lpbench.papers.lpct.drawings import DRAWINGS
from lpbench.papers.lpct.errata import ERRATA
from lpbench.papers.lpct.published import LAYOUTS, PUBLISHED, RANK_SUMS, read_sizes, write_facts
from lpbench.papers.published_files import stated_claims
from lpbench.reporting.paper import Output, Paper

PAPER = Paper(
    name="lpct",
    title="LPCT (JMLR 2024)",
    short="LPCT",
    full_title="Optimal Locally Private Nonparametric Classification with Public Data",
    authors="Yuheng Ma, Hanfang Yang",
    venue="Journal of Machine Learning Research 25, 2024",
    link="http://jmlr.org/papers/v25/23-1563.html",
    leaderboard=("lpct/table2",),
    letter="L",
    order=2,
    claims=stated_claims("L", claims_figures.checks, claims_tables.checks),
    configurations={"text": ("text", "tight_no_flag"), "code": ("released", "published_code")},
    judges={"figure": "code"},
    rests_on=(claims_tables.SELECTED,),
    judge="We judge tables against the paper's text, and figures, whose text and settings contradict each other, "
    "against the authors' code.",
    errata=ERRATA,
    repository=REPOSITORY,
    deviations=DEVIATIONS,
    published=PUBLISHED,
    rank_sums=RANK_SUMS,
    tables=LAYOUTS,
    rule="bold",
    uncounted=("ct_q",),
    methods=(
        *("lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "lpct_p", "lpct_q", "lpct_random"),
        *("ct_q", "phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
    ),
    proposed=("lpct",),
    default_variant="published code",
    causes=CAUSES,
    interpretations=INTERPRETATIONS,
    bounds=BOUNDS,
    tolerances=TOLERANCES,
    counted={"lpct/table3": claims_tables.counted_work},
    outputs={name: Output(draw) for name, draw in DRAWINGS.items()} | {"lpct/table1": Output(write_facts, read_sizes)},
)
