"""Deviations of LPCT's released code from the paper: facts about public files at the commits named."""

from lpbench.reporting.paper import Deviation

REPOSITORY = "Karlmyh/LPCT"
FIRST, LAST = "7f81694 (first upload, 2023-11)", "cab5bc8 (last commit, 2024-04)"
BOTH = "7f81694, cab5bc8"


DEVIATIONS = (
    Deviation(
        "LDPCP/tree.py:333-335",
        LAST,
        "LPCT and LPDT grow the partition on the private sample. Counts that the code calls public are exact counts "
        "of private users",
        "unbounded: the cuts depend on raw data (the first upload grows on public rows, as the paper says)",
        "tree_on_raw_labels",
    ),
    Deviation(
        "comparison/PSGD/optimizer.py:42-49",
        BOTH,
        "PSGD spends epsilon on each tensor of weights",
        "2 epsilon for the linear model, 4 epsilon for the network",
        "sgd_per_tensor_network",
    ),
    Deviation(
        "comparison/PSGD/privatizer.py:20",
        BOTH,
        "PSGD passes gradients shorter than 1 to PrivUnitG without scaling them to length 1",
        "not bounded by epsilon: the mechanism's proof needs unit vectors",
        "short_gradients",
    ),
    Deviation(
        "comparison/PGLM/_PGLM.py:66",
        BOTH,
        "PGLM multiplies the variance of the summed noise by sqrt(n_P), not n_P. The code's r = d + 1 makes up for "
        "a part of the missing noise",
        "above epsilon for n_P > (d + 1)^4",
        "pglm_root_n",
    ),
    Deviation(
        "comparison/PHIST/histogram.py:82, 91-92",
        BOTH,
        "PHIST sets seed 1 inside fit, and one Laplace draw of scale 4 sqrt(n) / epsilon replaces the sum of n draws",
        "anybody who knows the seed knows the noise; the noise also has another distribution than in the protocol",
        "shared_noise",
    ),
    Deviation(
        "LDPCP/tree.py:160, 315, 327-332",
        LAST,
        "the flag is always true, because pruning() returns the tree object instead of a flag. The second pass then "
        "leaves nodes without a prediction",
        "none: the code cannot run",
    ),
    Deviation(
        "pruning",
        FIRST,
        "LPCT-prune has one query with the whole epsilon, no flag and no second query",
        "none: the one query spends epsilon (the paper's Algorithm 2 divides epsilon between two queries)",
    ),
    Deviation(
        "partition and grids",
        BOTH,
        "the partition minimizes entropy, not the Gini index. The least leaf size is searched over 1, 5, 10, 50, 100 "
        "in simulations, and over powers of 2 on real data. The code searches other weights λ than the paper prints. "
        "Our figures show these settings and those of the text",
    ),
    Deviation(
        "LDPCP/_splitter.py:298, 322, 416; LDPCP/_tree.py:317 (319 in the last commit)",
        BOTH,
        "CART tries ten thresholds per feature. If the best cut leaves too few rows, the code cuts by another feature "
        "among the best tenth, or makes the cell a leaf. Our search=released does the same",
    ),
    Deviation(
        "grids of the simulations",
        BOTH,
        "LPCT-P and LPCT-Q search depths 1 to 6. LPCT-R searches 68 settings, while LPCT searches 800",
    ),
    Deviation(
        "drawing of figure 5(c)",
        BOTH,
        "the curves of LPCT-prune are raised by 0.002, 0.005 and 0.010 at ε = 1, 4 and 8",
    ),
    Deviation(
        "settings of figures 7 and 10",
        BOTH,
        "figure 7 uses n_Q = 100, while the text says 50. Figure 10(a) uses ε = 8; figure 10(b) uses ε = 1000 and 200 "
        "public rows",
    ),
)
