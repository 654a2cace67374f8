"""Printed names of methods, masks, data sets and parameters."""

import re
from collections.abc import Mapping
from functools import cache

from lpbench.datasets import list_datasets, load_manifest
from lpbench.errors import LpbenchError
from lpbench.experiments import catalog
from lpbench.experiments.method import Method
from lpbench.members import bare_name, member
from lpbench.paths import MANIFESTS

#: Symbols of the papers for parameters that appear in names.
SYMBOLS = {
    "n_grid_features": "s",
    "n_protected": "s*",
    "n_private": "n_P",
    "bins": "t",
    "depth": "p",
    "label_share": "ρ",
    "public_weight": "λ",
    "gamma": "γ",
    "min_samples_leaf": "leaf size",
    "n": "n",
    "n_public": "n_Q",
    "holder": "Hölder exponent",
}
#: Parameters whose values are names that need no explanation.
NAMED = ("variant", "randomizer", "learner", "estimator")
#: Names of learners and randomizers in words: ``GP on randomized response``.
LEARNERS = {
    "ridge": "Ridge",
    "extra_trees": "ExtraTrees",
    "hist_gradient_boosting": "Boosting",
    "gaussian_process": "GP",
}
RANDOMIZERS = {
    "laplace": "Laplace noise",
    "staircase": "staircase noise",
    "piecewise": "piecewise noise",
    "hybrid": "hybrid noise",
    "levels": "randomized levels",
    "optimal_unbiased": "optimal unbiased reports",
    "rr_on_bins": "RR on bins",
    "rr": "randomized response",
    "rr_with_prior": "RR with prior",
    "two_stages": "two-stage RR",
    "alibi": "ALIBI",
    "vector_approximation": "vector approximation",
    "subset_selection": "subset selection",
    "hadamard": "Hadamard response",
}
#: Parameters and their values in words, where a name and an equals sign would say little.
PHRASES = {
    "variant": {"features": "no public sample"},
    "shown": {"False": "no shown features"},
    "mechanism": {"grr": "generalized RR", "rr": "plain RR", "krr": "RR"},
    "budget": {"halves": "half the budget"},
    "constants": {"exact": "exact constants", "paper": "the paper's constants", "tight": "tight constants"},
    "label_range": {"scale": "known scale"},
    "labels": {
        "permuted": "permuted labels",
        "zeros": "labels mostly zero",
        "cauchy": "Cauchy labels",
        "lognormal": "lognormal labels",
    },
    "metric": {"auc": "AUC", "balanced_accuracy": "balanced accuracy"},
    "public_sample": {"concept_drift": "concept drift", "label_shift": "label shift", "missing_group": "missing group"},
    "rule": {"cart": "CART"},
    "search": {"released": "released grid"},
    "sensitivity": {
        "columns": "by column",
        "importance": "by importance",
        "random": "at random",
        "reversed": "reversed",
    },
    "version": {"released": "as released"},
}
#: Data sets whose name is no word.
DATASETS = {"hmda": "HMDA"}
#: Words of configurations that stand in texts beside the names of methods, masks and data sets.
FURTHER = ("tuning_free", "balanced_accuracy", "published_code", "published_tables", "left_out")
#: How the reported setting came about, in words.
CHOSEN = {
    "oracle": "best grid point on the test rows",
    "tuning_free": "one setting fixed without test rows",
    "private": "setting chosen by privatized reports",
    "fair": "one setting fixed without test rows or chosen by privatized reports",
}
MASK_TITLES = {"aligned": "", "label_only": "", "all_private": "", "power_law": "", "personalized": "personalized"}


def card_of(method: str, cards: Mapping[str, Method]) -> Method | None:
    """Method of a selector, else that of its bare name, as far as they are known."""
    return cards.get(method) or cards.get(bare_name(method))


def method_title(method: str, cards: Mapping[str, Method], variant: bool = True) -> str:
    """Printed name of a method and its fixed parameters, at will but the variant: ``HistOfTree (CART), s = 2``."""
    params = {key: value for key, value in member(method).params.items() if variant or key != "variant"}
    card = card_of(method, cards) or card_of(method, catalog.methods())
    title = card.title if card else in_words(bare_name(method))
    if {"learner", "randomizer"} <= set(params):
        learner, randomizer = str(params.pop("learner")), str(params.pop("randomizer"))
        title = f"{LEARNERS.get(learner, in_words(learner))} on {RANDOMIZERS.get(randomizer, in_words(randomizer))}"
    elif "estimator" in params:
        title = f"{method_title(str(params.pop('estimator')), cards)}, privately chosen"
    return ", ".join([title, *describe_params(params)])


def dataset_title(selector: str) -> str:
    """Printed name of a data set with its parameters: ``Red wine``; ``Rough classes, n = 1024``."""
    name = bare_name(selector)
    words = in_words(name)
    title = DATASETS.get(name) or _own_title(name) or words[:1].upper() + words[1:]
    return ", ".join([title, *describe_params(member(selector).params)])


def _own_title(name: str) -> str:
    """Title of a user's own data set; empty for others, and where its manifest is gone or cannot be read."""
    try:
        return "" if (MANIFESTS / f"{name}.yaml").is_file() else load_manifest(name).title
    except LpbenchError:
        return ""


def describe_params(params: Mapping) -> list[str]:
    """Parameters in the papers' symbols; what has a name of its own (:data:`NAMED`) is its bare name."""
    texts = []
    for key, value in params.items():
        words = f"{value:g}" if isinstance(value, float) else in_words(str(value))
        phrase = PHRASES.get(key, {}).get(str(value), words if key in NAMED else "")
        texts.append(phrase or f"{SYMBOLS.get(key, in_words(key))} = {words}")
    return texts


def mask_title(mask: str) -> str:
    """Printed name of a mask, empty where only its parameters tell masks apart: ``s* = 2``."""
    name = bare_name(mask)
    return ", ".join(filter(None, [MASK_TITLES.get(name, in_words(name)), *describe_params(member(mask).params)]))


def mask_name(mask: str) -> str:
    """Printed name of a mask that has to be named: ``aligned, s* = 2``; ``all private``."""
    return ", ".join([in_words(bare_name(mask)), *describe_params(member(mask).params)])


def in_words(name: str) -> str:
    """Return the name of a configuration in words."""
    return name.replace("_", " ")


def in_print(text: str) -> str:
    """Text with printed names for those of configurations; one of one word needs parameters to be a name."""
    text = str(text)
    if "_" not in text and "[" not in text:  # most texts: no need to look for what is called how
        return text
    return _pattern(tuple(catalog.method_names()), tuple(list_datasets())).sub(_print, text)


@cache
def _pattern(methods: tuple[str, ...], datasets: tuple[str, ...]) -> re.Pattern[str]:
    names = sorted({*methods, *datasets, *catalog.mask_names()}, key=len, reverse=True)
    long = "|".join([name for name in names if "_" in name] + [*FURTHER, r"heavy_tail_\d+"])
    # neither a part of a longer name or path nor a file
    return re.compile(rf"(?<![\w/.\-])(?:(?:{'|'.join(names)})\[[^\[\]\s]+=[^\[\]]*\]|(?:{long}))(?![\w/\[]|\.\w|_)")


def _print(match: re.Match[str]) -> str:
    is_method = bare_name(match[0]) in catalog.method_names()
    return method_title(match[0], catalog.methods()) if is_method else mask_name(match[0])
