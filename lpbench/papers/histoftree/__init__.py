"""HistOfTree (AISTATS 2025): private decision trees whose users protect different features; letter H."""

from lpbench.papers.histoftree import claims_figures, claims_tables
from lpbench.papers.histoftree.against_print import draw_against_print
from lpbench.papers.histoftree.alternatives import ALTERNATIVES, chosen_settings
from lpbench.papers.histoftree.drawings import draw_masks
from lpbench.papers.histoftree.errata import ERRATA
from lpbench.papers.histoftree.interpretations import BOUNDS, CAUSES, INTERPRETATIONS, TOLERANCES
from lpbench.papers.histoftree.published import LAYOUTS, PUBLISHED, RANK_SUMS, TABLE_METHODS
from lpbench.papers.published_files import outputs, stated_claims
from lpbench.reporting.paper import Citation, Differences, Judging, Paper

PAPER = Paper(
    name="histoftree",
    title="HistOfTree (AISTATS 2025)",
    short="HistOfTree",
    citation=Citation(
        "Locally Private Estimation with Public Features", "Yuheng Ma, Ke Jia, Hanfang Yang", "AISTATS 2025"
    ),
    leaderboard=("histoftree/table2", "histoftree/table1", "histoftree/table3"),
    letter="H",
    order=1,
    claims=stated_claims("H", claims_figures.checks, claims_tables.checks),
    configurations={"text": ("text",), "inferred": ("inferred",)},
    judging=Judging(
        "We judge results under the settings of the paper's text. Results called “inferred” allow a depth-0 tree, "
        "which the paper's grid lacks. Only a depth-0 tree explains why the printed scores of max-edge and CART "
        "coincide at ε = 1."
    ),
    errata=ERRATA,
    published=PUBLISHED,
    tables=LAYOUTS,
    methods=TABLE_METHODS["personalized"],
    proposed=("histoftree", "adhistoftree"),
    differences=Differences(CAUSES, INTERPRETATIONS, BOUNDS),
    alternatives=ALTERNATIVES,
    chosen=chosen_settings,
    uncounted=("building",),
    outputs=outputs(
        write={"histoftree/figure1": draw_masks, **dict.fromkeys(LAYOUTS, draw_against_print)},
        rank_sums=RANK_SUMS,
        tolerance=TOLERANCES,
        section=dict.fromkeys(LAYOUTS, "Tables 1 to 3"),
    ),
)
