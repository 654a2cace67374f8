"""LPCT's drawn figures: partition (1), regression functions (3), ranges (8a), informed and random partitions (9a)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbench import estimators
from lpbench.datasets import eta_p, eta_q, make_problem
from lpbench.experiments import catalog as registry
from lpbench.experiments.experiment import Experiment
from lpbench.members import member
from lpbench.problem import Problem
from lpbench.reporting.figures import style

if TYPE_CHECKING:
    from lpbench.partitions.tree import TreePartition

ONE, ZERO = style.COLORS[1], style.COLORS[0]


def problem_of(settings: Mapping[str, Any], seed: int) -> Problem:
    """Draw replication 0 of the data set that a drawing's settings name."""
    data = member(settings["dataset"])
    return make_problem(data.name, data.params, None, None, 0, seed)


def fit(problem: Problem, model: Any, **params: Any) -> Any:
    """Fit a method to a problem of two classes, as a run would."""
    return model.set_params(classes=(0, 1), **params).fit(problem.X_train, problem.y_train, **problem.fit_arguments)


def shade(ax: style.Axes, function: Callable[[np.ndarray], np.ndarray], points: int, **look: Any) -> Any:
    """Shade a function on the unit square by its value."""
    axis = np.linspace(0, 1, points)
    values = function(np.stack(np.meshgrid(axis, axis), axis=-1))
    filled = ax.contourf(axis, axis, values, levels=np.linspace(0.1, 0.9, 17), cmap=shades(), **look)
    # as paths the shading alone would take more than a megabyte
    filled.set_rasterized(True)
    return filled


def add_scale(figure: Any, axes: Any, filled: Any) -> None:
    """Say which color of :func:`shade` is which probability."""
    figure.colorbar(filled, ax=axes, label="P(y = 1 | x)", ticks=[0.1, 0.3, 0.5, 0.7, 0.9])


@cache
def shades() -> Any:
    """Color map from blue (class 0) over white (even) to orange (class 1), readable for the color-blind."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("classes", [ZERO, "white", ONE])


def square(ax: style.Axes) -> None:
    """Set axes to the unit square."""
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x^1$", ylabel="$x^2$")
    ax.grid(False)
    ax.set_xticks([0, 0.5, 1])
    ax.set_yticks([0, 0.5, 1])


def draw_cells(ax: style.Axes, tree: TreePartition, depth: int, **look: Any) -> None:
    """Outline the cells of a two-dimensional tree truncated at ``depth``."""
    outline: dict[str, Any] = {"fill": False, "edgecolor": ZERO, "linewidth": 1.2} | look
    for node in tree.leaves(depth):
        box(ax, tree, node, **outline)


def box(ax: style.Axes, tree: TreePartition, node: int, inset: float = 0.0, **look: Any) -> None:
    """Draw the cell of one node, ``inset`` inside its borders."""
    low, high = tree.bounds(int(node))
    width, height = high - low - 2 * inset
    ax.add_patch(style.pyplot().Rectangle((low[0] + inset, low[1] + inset), width, height, **look))


def scatter(ax: style.Axes, problem: Problem) -> None:
    """Draw the public rows: class 1 as orange triangles, class 0 as blue dots."""
    X, y = np.asarray(problem.X_public), np.asarray(problem.y_public)
    for label, color, marker in ((0, ZERO, "o"), (1, ONE, "^")):
        # a thousand points as paths would take more than all the rest of the file
        x1, x2 = X[y == label].T
        ax.scatter(x1, x2, s=7, c=color, marker=marker, alpha=0.55, linewidths=0, rasterized=True)


def draw_partition(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Figure 1: the partition after each level, with one cell and its ancestors of depth 1 and 2."""
    from matplotlib.patches import Patch

    settings = experiment.settings
    problem, depth = problem_of(settings, seed), settings["depth"]
    tree = fit(problem, estimators.LPCT(), depth=depth).tree_
    leaf = int(tree.apply(np.array([[0.7, 0.3]]))[0])
    path = [leaf]
    while path[-1] > 0:
        path.append(int(tree.parent[path[-1]]))
    path = path[::-1]
    with style.look(mathematics=True):
        figure, axes = style.pyplot().subplots(1, depth, figsize=(3.0 * depth, 3.6), squeeze=False)
        for level, ax in enumerate(axes[0], start=1):
            scatter(ax, problem)
            node = path[min(level, len(path) - 1)]
            box(ax, tree, node, facecolor=style.SELECTED, alpha=0.45)
            draw_cells(ax, tree, level)
            for up, color in ((1, style.COLORS[3]), (2, style.COLORS[2])):
                if up < level < len(path):
                    box(ax, tree, path[up], inset=0.012 * up, fill=False, edgecolor=color, linewidth=2.2)
            square(ax)
            ax.set_title(f"depth {level}", loc="left")
        handles = [
            style.pyplot().Line2D([], [], linestyle="", marker="o", color=ZERO, label="public row, y = 0"),
            style.pyplot().Line2D([], [], linestyle="", marker="^", color=ONE, label="public row, y = 1"),
            Patch(facecolor=style.SELECTED, alpha=0.45, label="one cell"),
            Patch(fill=False, edgecolor=style.COLORS[3], linewidth=2.2, label="its ancestor of depth 1"),
            Patch(fill=False, edgecolor=style.COLORS[2], linewidth=2.2, label="its ancestor of depth 2"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        return style.save(figure, folder, "figure1")


def draw_pruning(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Figure 2: the ancestor that answers for each leaf; then, a panel for each number of levels climbed, one leaf."""
    from matplotlib.patches import Patch

    settings = experiment.settings
    depth, pruned = settings["depth"], registry.method(settings["method"]).build()
    model = fit(problem_of(settings, seed), pruned, depth=depth, epsilon=settings["epsilon"], random_state=seed)
    examples = [int(np.flatnonzero(model.climbed_ == c)[0]) for c in np.unique(model.climbed_)]
    with style.look(mathematics=True):
        figure, axes = style.pyplot().subplots(
            1, 1 + len(examples), figsize=(3.1 * (1 + len(examples)) + 0.6, 3.6), squeeze=False
        )
        _all_leaves(axes[0][0], model, depth)
        for ax, k in zip(axes[0][1:], examples, strict=True):
            leaf = node = int(model.leaves_[k])
            for _ in range(model.climbed_[k]):
                node = int(model.tree_.parent[node])
            box(ax, model.tree_, node, facecolor=style.SELECTED, alpha=0.45)
            draw_cells(ax, model.tree_, depth)
            box(ax, model.tree_, leaf, inset=0.012, fill=False, edgecolor="black", linewidth=2.4)
            square(ax)
            ax.set_title(f"levels climbed: {model.climbed_[k]}", loc="left")
        handles = [
            Patch(fill=False, edgecolor="black", linewidth=2.4, label="a leaf"),
            Patch(facecolor=style.SELECTED, alpha=0.45, label="the area whose labels answer for it"),
        ]
        figure.legend(handles=handles, loc="outside lower right", ncols=2, frameon=False)
        return style.save(figure, folder, "figure2")


def _all_leaves(ax: style.Axes, model: Any, depth: int) -> None:
    """Shade each leaf of a fitted LPCT-prune by its estimate, and print the depth of the ancestor that answers for it.

    ``depth`` is that of the tree whose cells are drawn.
    """
    one = model.leaf_probability_[:, 1]
    for leaf, climbed, probability in zip(model.leaves_, model.climbed_, one, strict=True):
        box(ax, model.tree_, leaf, facecolor=shades()(float(probability)), alpha=0.8)
        low, high = model.tree_.bounds(int(leaf))
        answering = model.tree_.depth[leaf] - climbed
        x1, x2 = (low + high) / 2
        ax.text(x1, x2, f"k = {answering}\n{probability:.2f}", ha="center", va="center", fontsize=8)
    draw_cells(ax, model.tree_, depth, edgecolor="black", linewidth=1.0)
    square(ax)
    ax.set_title("depth k of the ancestor, estimate", loc="left")


def draw_contours(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Figure 3: eta_P, and eta_Q for each exponent."""
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {"$\\eta_P$": eta_p}
    functions |= {f"$\\eta_Q$, $\\gamma$ = {g:g}": partial(eta_q, gamma=g) for g in experiment.settings["gamma"]}
    with style.look(mathematics=True):
        figure, axes = style.pyplot().subplots(1, len(functions), figsize=(3.0 * len(functions) + 0.8, 3.1))
        for ax, (title, function) in zip(axes, functions.items(), strict=True):
            filled = shade(ax, function, 301, extend="both")
            square(ax)
            ax.set_title(title, loc="left")
        add_scale(figure, axes, filled)
        return style.save(figure, folder, "figure3")


def draw_ranges(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Figure 8(a): the true domain, the range of the public sample, and the ranges one might assume."""
    from matplotlib.patches import Patch

    settings = experiment.settings
    scale, assumed = settings["scale"], settings["assumed_ranges"]
    params = {"n_public": settings["n_public"], "scale": scale, "range": "known"}
    problem = make_problem("posterior_drift", params, None, None, 0, seed)
    public, private = scale * np.asarray(problem.X_public), scale * problem.X_train[:1000]
    low, high = public.min(axis=0), public.max(axis=0)
    with style.look(mathematics=True):
        figure, ax = style.pyplot().subplots(figsize=(5.6, 4.0))
        for side in assumed:
            ax.add_patch(style.pyplot().Rectangle((0, 0), side, side, fill=False, edgecolor=style.GRAY, linewidth=0.9))
        ax.scatter(
            private[:, 0],
            private[:, 1],
            s=3,
            c=style.COLORS[5],
            alpha=0.5,
            linewidths=0,
            label="private user",
            rasterized=True,
        )
        ax.scatter(public[:, 0], public[:, 1], s=16, c=ONE, marker="^", linewidths=0, label="public row")
        ax.add_patch(style.pyplot().Rectangle(low, *(high - low), fill=False, edgecolor="black", linewidth=1.8))
        ax.add_patch(
            style.pyplot().Rectangle((0, 0), scale, scale, fill=False, edgecolor="black", linestyle=":", linewidth=1.2)
        )
        ax.set(
            xlim=(-0.1, max(assumed) + 0.1),
            ylim=(-0.1, max(assumed) + 0.1),
            aspect="equal",
            xlabel="$x^1$",
            ylabel="$x^2$",
            title=f"(a) a = {scale:g}",
        )
        ax.grid(False)
        handles = [
            *ax.get_legend_handles_labels()[0],
            Patch(fill=False, edgecolor="black", linewidth=1.8, label="range of the public rows"),
            Patch(fill=False, edgecolor="black", linestyle=":", label="true domain"),
            Patch(fill=False, edgecolor=style.GRAY, label="assumed ranges"),
        ]
        figure.legend(handles=handles, loc="outside right upper", frameon=False)
        return style.save(figure, folder, "figure8a")


def draw_two_partitions(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Figure 9(a): a random partition and the max-edge partition of the same depth, over eta_P."""
    problem, depth = problem_of(experiment.settings, seed), experiment.settings["depth"]
    rules = {"random": "random cuts (LPCT-R)", "max_edge": "cuts chosen by public data (LPCT)"}
    with style.look(mathematics=True):
        figure, axes = style.pyplot().subplots(1, 2, figsize=(7.2, 3.7))
        for ax, (rule, title) in zip(axes, rules.items(), strict=True):
            filled = shade(ax, eta_p, 201, alpha=0.75)
            tree = fit(problem, estimators.LPCT(), depth=depth, rule=rule, random_state=seed).tree_
            draw_cells(ax, tree, depth, edgecolor="black", linewidth=1.4)
            square(ax)
            ax.set_title(title, loc="left")
        add_scale(figure, axes, filled)
        figure.suptitle(f"(a) depth {depth}", x=0.02, ha="left")
        return style.save(figure, folder, "figure9a")


DRAWINGS = {
    "lpct/figure1": draw_partition,
    "lpct/figure2": draw_pruning,
    "lpct/figure3": draw_contours,
    "lpct/figure8": draw_ranges,
    "lpct/figure9": draw_two_partitions,
}
