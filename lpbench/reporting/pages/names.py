"""Anchors and names of artifacts in words: ``histoftree/figure2a`` is "Figure 2(a)" under ``#figure-2a``."""

import re

from lpbench.reporting.paper import paper_of, papers

_NUMBERED = re.compile(r"(figure|table)(\d+)([a-z]?)$")


def anchor_of(name: str) -> str:
    """Anchor of an experiment on its page, unique on it."""
    leaf = name.rpartition("/")[2]
    return re.sub(r"^(figure|table)(?=\d)", r"\1-", leaf.replace("_", "-"))


def label_of(name: str, title: str = "") -> str:
    """Printed name: ``Figure 2(a)``; an artifact without a number is its title, or without one its name in words."""
    leaf = name.rpartition("/")[2]
    match = _NUMBERED.match(leaf)
    if not match and title:
        return title
    if not match:
        words, shorts = leaf, [(paper.name, paper.short) for paper in papers() if paper.citation]
        for code, word in (*shorts, ("tuning_free", "tuning-free"), ("_", " ")):
            words = words.replace(code, word)
        words = re.sub(r"(figure|table)(\d)", r"\1 \2", words)
        return words[:1].upper() + words[1:]
    kind, number, panel = match.groups()
    return f"{kind.capitalize()} {number}" + (f"({panel})" if panel else "")


def printed_name(name: str) -> str:
    """Printed name of an experiment beside those of others: ``LPCT, Table 2``."""
    return f"{paper_of(name).short}, {label_of(name)}"


def group_of(name: str, title: str = "") -> tuple[str, str]:
    """Anchor and heading of the figure that a panel belongs to; those of the artifact itself where it has no panels."""
    figure = re.sub(r"((?:figure|table)\d+)[a-z]$", r"\1", name)
    return anchor_of(figure), label_of(figure, title)


def concerned(where: str, name: str) -> bool:
    """Return True if a reference into a paper, such as ``Tables 1-3, Hist``, includes an artifact."""
    match = _NUMBERED.match(name.rpartition("/")[2])
    named = re.match(r"(Table|Figure)s? (\d+)(?:-(\d+))?", where)
    if not match or not named or named[1].lower() != match[1]:
        return False
    return int(named[2]) <= int(match[2]) <= int(named[3] or named[2])


def sentences(reasons: str) -> list[str]:
    """Reasons that a file joins, as sentences without their full stops, each once."""
    return list(dict.fromkeys(reason[:1].upper() + reason[1:] for reason in reasons.split("; ") if reason))
