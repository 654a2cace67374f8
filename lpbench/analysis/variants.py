"""Several selectors of one method in one comparison: which of them stands for the method."""

from collections.abc import Collection, Iterable

from lpbench.selectors import format_selector, parse_selector

#: The named preset that follows the paper's text; it stands for a method that was not run under its bare name.
TEXT = "text"


def bare_name(selector: str) -> str:
    """Name of a selector without its parameters; empty for an empty one (no mask, no data set)."""
    return parse_selector(selector)[0] if selector else ""


def by_method(selectors: Iterable[str]) -> dict[str, list[str]]:
    """Group selectors by bare name, in alphabetical order."""
    groups: dict[str, list[str]] = {}
    for selector in sorted(set(selectors)):
        groups.setdefault(bare_name(selector), []).append(selector)
    return groups


def _preference(selector: str, variants: Collection[str] = ()) -> tuple[bool, bool, bool, bool, int, str]:
    """Sort key of the one rule by which a selector stands for others of its method.

    A preset before parameters fixed by hand; no variant before the variant ``text`` before any other; the shortest.
    An experiment names as the bare method what its paper is compared with, so tables, figures and claims rest on that.
    """
    params = parse_selector(selector)[1]
    variant = params.get("variant")
    return (
        not set(params) <= {"variant"},
        variant not in variants,
        variant is not None,
        variant != TEXT,
        len(selector),
        selector,
    )


def representatives(selectors: Iterable[str], variants: Collection[str] = ()) -> dict[str, str]:
    """Choose one selector a method: one of ``variants``, else the bare name, the variant ``text``, the shortest."""
    return {name: min(group, key=lambda s: _preference(s, variants)) for name, group in by_method(selectors).items()}


def one_variant_each(selectors: Iterable[str], variants: Collection[str] = ()) -> set[str]:
    """Choose one variant among the selectors that differ in the variant alone, by the rule of representatives."""
    groups: dict[str, list[str]] = {}
    for selector in set(selectors):
        name, params = parse_selector(selector)
        params.pop("variant", None)
        groups.setdefault(format_selector(name, params), []).append(selector)
    return {min(group, key=lambda s: _preference(s, variants)) for group in groups.values()}


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
