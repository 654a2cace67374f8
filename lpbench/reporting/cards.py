"""How methods, masks and parameters are called in print."""

from __future__ import annotations

from collections.abc import Mapping

from lpbench.experiments.method import Method
from lpbench.selectors import parse_selector

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
}
#: Parameters whose values are names that need no explanation.
NAMED = ("variant", "randomizer", "learner", "estimator")
#: How the reported setting came about, in words.
CHOSEN = {
    "oracle": "best grid point with hindsight",
    "tuning_free": "one setting fixed without test rows",
    "private": "setting chosen by privatised reports",
}
MASK_TITLES = {"aligned": "", "label_only": "", "all_private": "", "power_law": "", "personalized": "personalized"}


def card_of(method: str, cards: Mapping[str, Method]) -> Method | None:
    """Method of a selector, else that of its bare name, as far as they are known."""
    return cards.get(method) or cards.get(parse_selector(method)[0])


def method_title(method: str, cards: Mapping[str, Method]) -> str:
    """Printed name of a method with its fixed parameters: ``HistOfTree (CART), s = 2``."""
    name, params = parse_selector(method)
    card = card_of(method, cards)
    return ", ".join([card.title if card else name, *describe_params(params)])


def dataset_title(selector: str) -> str:
    """Printed name of a data set with its parameters: ``Red wine``; ``Rough classes, n = 1024``."""
    name, params = parse_selector(selector)
    words = name.replace("_", " ")
    return ", ".join([words[:1].upper() + words[1:], *describe_params(params)])


def describe_params(params: Mapping) -> list[str]:
    """Parameters in the papers' symbols; what has a name of its own (:data:`NAMED`) is its bare name."""
    return [
        str(v).replace("_", " ")
        if k in NAMED
        else f"{SYMBOLS.get(k, k)} = {v:g}"
        if isinstance(v, float)
        else f"{SYMBOLS.get(k, k)} = {v}"
        for k, v in params.items()
    ]


def mask_title(mask: str) -> str:
    """Printed name of a mask, empty where only its parameters tell masks apart: ``s* = 2``."""
    name, params = parse_selector(mask) if mask else ("", {})
    parts = [MASK_TITLES.get(name, name), *(f"{SYMBOLS.get(k, k)} = {v}" for k, v in params.items())]
    return ", ".join(p for p in parts if p)
