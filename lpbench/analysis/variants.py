"""Several selectors of one method in one comparison: which of them stands for the method."""

from collections.abc import Collection, Iterable

from lpbench.members import bare_name, member

#: The named preset that follows the paper's text; it stands for a method that was not run under its bare name.
TEXT = "text"


def by_method(selectors: Iterable[str]) -> dict[str, list[str]]:
    """Group selectors by bare name, in alphabetical order."""
    groups: dict[str, list[str]] = {}
    for selector in sorted(set(selectors)):
        groups.setdefault(bare_name(selector), []).append(selector)
    return groups


def _preference(selector: str, variants: Collection[str] = ()) -> tuple[bool, bool, bool, bool, int, str]:
    """Sort key of the one rule by which a selector stands for others of its method.

    A preset comes before parameters fixed by hand; a variant among ``variants``, none, or ``text`` before any other;
    then the shortest. An experiment names as the bare method what its paper is compared with, so tables, figures and
    claims rest on that.
    """
    one = member(selector)
    return (
        not one.is_preset,
        one.variant not in variants,
        one.variant != "",
        one.variant != TEXT,
        len(selector),
        selector,
    )


def representatives(selectors: Iterable[str], variants: Collection[str] = ()) -> dict[str, str]:
    """Choose one selector a method: one of ``variants``, else the bare name, the variant ``text``, the shortest.

    Parameters
    ----------
    selectors : iterable of str
        Selectors of methods, such as ``krr[variant=text]``.
    variants : collection of str
        Values of ``variant`` that are preferred to the bare name.

    Returns
    -------
    dict of str to str
        Bare name -> the selector that stands for it.
    """
    return {name: min(group, key=lambda s: _preference(s, variants)) for name, group in by_method(selectors).items()}


def one_variant_each(selectors: Iterable[str], variants: Collection[str] = ()) -> set[str]:
    """Choose one selector among those that differ in the method's variant alone; presets go before others."""
    groups: dict[str, list[str]] = {}
    for selector in set(selectors):
        groups.setdefault(member(selector).without("variant"), []).append(selector)
    return {min(group, key=lambda s: _preference(s, variants)) for group in groups.values()}


def competitors(selectors: Iterable[str]) -> set[str]:
    """Choose the selectors that compete with other methods.

    A method run under its bare name, or under several variants, competes once: the others are shown beside it.
    Selectors that fix parameters compete with each other where the method itself was not run.

    Parameters
    ----------
    selectors : iterable of str
        Selectors of the methods that were run.

    Returns
    -------
    set of str
        Those that are ranked and tested against each other.
    """
    groups = by_method(selectors)
    chosen = representatives(s for group in groups.values() for s in group)
    competing = set()
    for name, group in groups.items():
        if member(chosen[name]).is_preset:
            competing.add(chosen[name])
        if name not in group:
            competing |= {s for s in group if not member(s).is_preset}
    return competing
