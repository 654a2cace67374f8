"""Scripts of ``make lint`` find what they look for, and nothing else."""

import pytest

from scripts import check_clocks, check_docstrings, check_skips
from scripts.check_size import rooms, tokens_of, too_large
from scripts.check_words import arguments_of_no_meaning, find, share_of_names, strings


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


@pytest.mark.parametrize(
    "code",
    [
        "began = time.monotonic()\nassert time.monotonic() - began < 60",
        "start = perf_counter()\ntook = perf_counter() - start\nassert took <= 2 * 30",
        "def seconds_of(f):\n    start = time.process_time()\n    return time.process_time() - start\n"
        "assert min(seconds_of(f), 3) < LIMIT",
        "assert report.failed[0].seconds < 1.0",
        "deadline = time.time() + 5\nassert time.time() < deadline",
    ],
)
def test_an_asserted_time_is_found(code):
    assert len(list(check_clocks.find(code))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "a = time.process_time()\nb = time.process_time()\nassert a / b < 3",
        "a = time.process_time()\nassert a < 3 * b",
        "deadline = time.time() + 60\nwhile not done() and time.time() < deadline:\n    pass\nassert done()",
        "assert size.seconds > 0 and shown.seconds == 0.5",
        "assert 0 < cell['se'] < 0.02",
    ],
)
def test_ratios_and_patience_are_allowed(code):
    assert list(check_clocks.find(code)) == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("x = 1\n", 3),
        ('"""A module."""\n\n# why\nx = 1  # here\n', 3),
        ('def f(x):\n    """Return x.\n\n    Notes follow.\n    """\n    return x\n', 8),
        ('x = f"{a + b:>{width}} of {c}"\n', 3),
        ('x = f"{f\'{a}\'}" "text"\n', 4),
        ('"""A module."""\nx = """a text"""\n', 3),
        ("x = [\n    1,\n\n    2,\n]\n", 8),
    ],
)
def test_tokens_of_code_are_counted_without_words(source, count):
    assert tokens_of(source) == count


def test_a_package_above_its_ceiling_is_named_with_both_numbers(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.lpbench]\nmost_tokens = 6\n", encoding="utf-8")
    for room in ("audit", "estimators", "papers"):
        (tmp_path / "lpbench" / room / "deep").mkdir(parents=True)
        (tmp_path / "lpbench" / room / "deep" / "module.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "lpbench" / "files.py").write_text("x = 1\n", encoding="utf-8")
    assert rooms(tmp_path / "lpbench") == {"audit": 3, "files": 3}
    assert too_large(tmp_path) == ""
    (tmp_path / "lpbench" / "files.py").write_text("x = 1 + 1\n", encoding="utf-8")
    assert "has 8 tokens" in too_large(tmp_path) and "allows 6:" in too_large(tmp_path)


@pytest.mark.parametrize(
    ("code", "is_table"),
    [
        ("A = (\n    1, 2,\n)  # fmt: skip", True),
        ("A: dict = {\n    1: f(2),\n}  # fmt: skip", True),
        ("class A:\n    B = [\n        1, 2,\n    ]  # fmt: skip", True),
        ("def f():\n    A = (\n        1, 2,\n    )  # fmt: skip\n    return A", False),
        ("A = f(\n    1, 2,\n)  # fmt: skip", False),
        ("def f(\n    a, b,\n):  # fmt: skip\n    return a", False),
        ("A = [\n    x for x in (1, 2)\n]  # fmt: skip", False),
    ],
)
def test_the_formatter_is_kept_from_tables_alone(code, is_table):
    assert [found for _, found in check_skips.marks(code)] == [is_table]


def test_a_mark_beside_code_and_too_many_marks_are_named(tmp_path, monkeypatch):
    (tmp_path / "lpbench").mkdir()
    (tmp_path / "lpbench/some.py").write_text("A = f(\n    1, 2,\n)  # fmt: skip\nB = (\n    1, 2,\n)  # fmt: skip\n")
    assert check_skips.main(tmp_path) == "lpbench/some.py:3: # fmt: skip stands on tables of a module alone"
    monkeypatch.setattr(check_skips, "MOST", 1)
    assert check_skips.main(tmp_path).endswith("2 times # fmt: skip in lpbench/: at most 1")


def test_a_docstring_that_begins_with_a_question_word_is_found():
    source = '"""Words of a page."""\n\ndef f():\n    """Whether it holds."""\n\n\ndef g():\n    """Return 1."""\n'
    assert list(check_docstrings.riddles("a.py", source)) == [
        "a.py:3: begin with a verb or a noun of the field: 'Whether it holds.'"
    ]


def test_a_rendered_function_without_sections_is_found(monkeypatch):
    from lpbench import masks

    page = ".. automodule:: lpbench.masks\n   :members: as_mask\n"
    assert list(check_docstrings.incomplete(page)) == []
    monkeypatch.setattr(masks.as_mask, "__doc__", "Return the mask.")
    codes = [line.split()[1] for line in check_docstrings.incomplete(page)]
    assert codes == ["PR01", "RT01"]


def test_names_that_say_nothing_are_counted_where_they_are_assigned():
    modules = ["found = rows\nfor other, k in pairs:\n    total = found\n", "y = [mine for mine in x]"]
    assert share_of_names(modules) == 0.5


def test_an_argument_that_says_nothing_is_refused_wherever_it_stands():
    source = "def f(rows, /, found, *told, known=1, **asked):\n    return lambda part, k: g(kept=k)\n"
    assert {name for _, name in arguments_of_no_meaning(source)} == {"found", "known", "told", "asked", "part"}
    assert list(arguments_of_no_meaning("def f(rows):\n    found = rows\n")) == []
