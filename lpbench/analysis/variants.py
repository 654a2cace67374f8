"""Several selectors of one method in one comparison: which of them stands for the method."""

from __future__ import annotations

from collections.abc import Iterable

from lpbench.selectors import parse_selector

#: The named preset that follows the paper's text; it stands for a method that was not run under its bare name.
TEXT = "text"


def by_method(selectors: Iterable[str]) -> dict[str, list[str]]:
    """Group selectors by bare name, in alphabetical order."""
    groups: dict[str, list[str]] = {}
    for selector in sorted(set(selectors)):
        groups.setdefault(parse_selector(selector)[0], []).append(selector)
    return groups


def representatives(selectors: Iterable[str]) -> dict[str, str]:
    """Choose one selector a method: the bare name, else the variant ``text``, else the shortest."""

    def order(selector: str) -> tuple:
        params = parse_selector(selector)[1]
        return bool(params), params.get("variant") != TEXT, len(selector), selector

    return {name: min(group, key=order) for name, group in by_method(selectors).items()}


def is_preset(selector: str) -> bool:
    """Whether a selector is a bare name or a named variant, without any parameter fixed by hand."""
    return set(parse_selector(selector)[1]) <= {"variant"}


def competitors(selectors: Iterable[str]) -> set[str]:
    """Choose the selectors that compete with other methods.

    A method run under its bare name, or under several variants, competes once: the others are shown beside it.
    Selectors that fix parameters compete with each other where the method itself was not run.
    """
    groups = by_method(selectors)
    chosen = representatives(s for group in groups.values() for s in group)
    found = set()
    for name, group in groups.items():
        if is_preset(chosen[name]):
            found.add(chosen[name])
        if name not in group:
            found |= {s for s in group if not is_preset(s)}
    return found
