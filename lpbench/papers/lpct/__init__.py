"""LPCT (JMLR 2024): locally private classification trees with public data; letter L."""

from lpbench.papers.lpct import claims_figures, claims_tables
from lpbench.papers.lpct.alternatives import ALTERNATIVES
from lpbench.papers.lpct.deviations import DEVIATIONS, REPOSITORY
from lpbench.papers.lpct.drawings import DRAWINGS
from lpbench.papers.lpct.errata import ERRATA
from lpbench.papers.lpct.interpretations import BOUNDS, CAUSES, INTERPRETATIONS, TOLERANCES
from lpbench.papers.lpct.published import LAYOUTS, PUBLISHED, RANK_SUMS, read_sizes, write_facts
from lpbench.papers.published_files import outputs, stated_claims
from lpbench.reporting.paper import Citation, Differences, Judging, Paper, Released

PAPER = Paper(
    name="lpct",
    title="LPCT (JMLR 2024)",
    short="LPCT",
    citation=Citation(
        "Optimal Locally Private Nonparametric Classification with Public Data",
        "Yuheng Ma, Hanfang Yang",
        "Journal of Machine Learning Research 25, 2024",
        "http://jmlr.org/papers/v25/23-1563.html",
    ),
    leaderboard=("lpct/table2",),
    letter="L",
    order=2,
    claims=stated_claims("L", claims_figures.checks, claims_tables.checks),
    configurations={"text": ("text", "tight_no_flag"), "code": ("released", "published_code")},
    judging=Judging(
        "We compare tables with runs that follow the paper's text. We compare figures with runs that follow the "
        "authors' code, because the text contradicts the settings of the published figures.",
        {"figure": "code"},
    ),
    rests_on=(claims_tables.SELECTED,),
    errata=ERRATA,
    released=Released(REPOSITORY, DEVIATIONS),
    published=PUBLISHED,
    tables=LAYOUTS,
    rule="bold",
    uncounted=("ct_q",),
    methods=(
        *("lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "lpct_p", "lpct_q", "lpct_random"),
        *("ct_q", "phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
    ),
    proposed=("lpct",),
    default_variant="published code",
    differences=Differences(CAUSES, INTERPRETATIONS, BOUNDS),
    alternatives=ALTERNATIVES,
    outputs=outputs(
        write=DRAWINGS | {"lpct/table1": write_facts},
        read={"lpct/table1": read_sizes},
        rank_sums=RANK_SUMS,
        tolerance=TOLERANCES,
        counted={"lpct/table3": claims_tables.counted_work},
    ),
)
