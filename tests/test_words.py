"""Prose uses the field's terms."""

import pytest

from scripts.check_words import find, strings


@pytest.mark.parametrize(
    "text",
    [
        "the Second build of it",
        "are not told\napart",
        "20 points of 0.01",
        "an interview",
        "two heats",
        "a rival's",
        "beats the\nfloor",
    ],
)
def test_a_word_of_the_list_is_found(text):
    assert len(list(find(text))) == 1


@pytest.mark.parametrize(
    "text", ["`interview`", "lpbench/reporting/ladders.py", "ladders : tuple of Ladder", "first, build it"]
)
def test_names_and_other_words_are_allowed(text):
    assert list(find(text)) == []


def test_docstrings_and_messages_are_read_and_names_are_not():
    source = (
        'RIVALS = ["rival"]\n\ndef f(rival):\n    """Compare rivals."""\n    raise ValueError(f"a rival: {rival}")\n'
    )
    assert [(line, word) for line, text in strings(source) for _, word, _ in find(text)] == [
        (4, "rivals"),
        (5, "rival"),
    ]
