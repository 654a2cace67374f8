"""HistOfTree (AISTATS 2025): private decision trees whose users protect different features; letter H."""

from lpbench.papers.histoftree import claims_figures, claims_tables
from lpbench.papers.histoftree.causes import BOUNDS, CAUSES, INTERPRETATIONS, TOLERANCES
from lpbench.papers.histoftree.drawings import draw_masks
from lpbench.papers.histoftree.errata import ERRATA
from lpbench.papers.histoftree.published import COLUMNS, LAYOUTS, PUBLISHED, RANK_SUMS
from lpbench.papers.published_files import stated_claims
from lpbench.reporting.paper import Output, Paper

PAPER = Paper(
    name="histoftree",
    title="HistOfTree (AISTATS 2025)",
    short="HistOfTree",
    full_title="Locally Private Estimation with Public Features",
    authors="Yuheng Ma, Ke Jia, Hanfang Yang",
    venue="AISTATS 2025",
    leaderboard=("histoftree/table2", "histoftree/table1", "histoftree/table3"),
    letter="H",
    order=1,
    claims=stated_claims("H", claims_figures.checks, claims_tables.checks),
    configurations={"text": ("text",), "inferred": ("inferred",)},
    judge="We judge against the paper's text. Beside it stand numbers and verdicts with an uncut tree allowed, which "
    "its grid lacks (inferred: at ε = 1 the printed ME and CART scores coincide, which only an uncut tree explains).",
    errata=ERRATA,
    published=PUBLISHED,
    rank_sums=RANK_SUMS,
    tables=LAYOUTS,
    sections={"Tables 1 to 3": tuple(LAYOUTS)},
    methods=COLUMNS["personalized"],
    proposed=("histoftree", "adhistoftree"),
    causes=CAUSES,
    interpretations=INTERPRETATIONS,
    bounds=BOUNDS,
    uncounted=("building",),
    tolerances=TOLERANCES,
    outputs={"histoftree/figure1": Output(draw_masks)},
)
