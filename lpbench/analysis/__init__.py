"""Statistics of finished runs: selection, summaries, ranks, paired tests and rates.

The package reads tables and returns tables; it knows nothing of how the scores were computed.
"""

from lpbench.analysis.ranks import rank_sums, ranks, wins
from lpbench.analysis.rates import (
    Interval,
    bootstrap,
    bootstrap_means,
    local_slopes,
    loglog_slope,
    ratio_of_means,
    slope,
)
from lpbench.analysis.scores import as_text, check_scores, from_text, read_csv, write_csv
from lpbench.analysis.selection import Selected, Setting, select, selected_of
from lpbench.analysis.significance import ALPHA, Marks, better, bolds, holm, signed_rank, stars
from lpbench.analysis.summary import (
    COMPARISON,
    SUMMARY_COLUMNS,
    Summary,
    distinct_selections,
    summarize,
    summary_of,
)
from lpbench.analysis.variants import competitors, representatives

__all__ = [
    "ALPHA",
    "COMPARISON",
    "SUMMARY_COLUMNS",
    "Interval",
    "Marks",
    "Selected",
    "Setting",
    "Summary",
    "as_text",
    "better",
    "bolds",
    "bootstrap",
    "bootstrap_means",
    "check_scores",
    "competitors",
    "distinct_selections",
    "from_text",
    "holm",
    "local_slopes",
    "loglog_slope",
    "rank_sums",
    "ranks",
    "ratio_of_means",
    "read_csv",
    "representatives",
    "select",
    "selected_of",
    "signed_rank",
    "slope",
    "stars",
    "summarize",
    "summary_of",
    "wins",
    "write_csv",
]
