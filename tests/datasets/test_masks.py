import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lpbench.cli.main import main
from lpbench.datasets import make_mask, make_problem
from lpbench.datasets.masks import default_n_protected
from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams


def draw(name, n, d, seed=1, **params):
    return make_mask(name, n, d, Streams(seed).generator("mask"), params)


@pytest.mark.parametrize(("d", "expected"), [(1, 1), (2, 1), (5, 1), (8, 2), (27, 2), (68, 3), (107, 3), (3000, 5)])
def test_number_of_sensitive_features(d, expected):
    assert default_n_protected(d) == expected  # ceil(ln sqrt d)


def test_aligned():
    np.testing.assert_array_equal(draw("aligned", 3, 8), [[1, 1, 0, 0, 0, 0, 0, 0]] * 3)
    np.testing.assert_array_equal(draw("aligned", 2, 4, n_protected=3), [[1, 1, 1, 0]] * 2)
    assert not draw("aligned", 2, 4, n_protected=0).any()


def test_personalized_counts_as_printed():
    """W_i^l = 1 iff i <= n / 10^floor(l / s*), l = 1..d."""
    mask = draw("personalized", 1000, 7, n_protected=2)
    np.testing.assert_array_equal(mask.sum(axis=0), [1000, 100, 100, 10, 10, 1, 1])
    shifted = draw("personalized", 1000, 7, n_protected=2, personalized_index=0)
    np.testing.assert_array_equal(shifted.sum(axis=0), [1000, 1000, 100, 100, 10, 10, 1])
    assert (draw("personalized", 1000, 5).sum(axis=0) == [100, 10, 1, 0, 0]).all()  # s* = 1


@pytest.mark.parametrize("gamma", [0.25, 1.0, 4.0])
def test_power_law_counts(gamma):
    mask = draw("power_law", 10000, 5, gamma=gamma)
    expected = [np.floor(10000 / level**gamma * (1 + 1e-12)) for level in range(1, 6)]
    np.testing.assert_array_equal(mask.sum(axis=0), expected)


def test_label_only_and_all_private():
    assert not draw("label_only", 4, 3).any()
    assert draw("all_private", 4, 3).all()


@given(n=st.integers(1, 60), d=st.integers(1, 8), name=st.sampled_from(["personalized", "power_law", "aligned"]))
def test_protection_is_nested_over_features(n, d, name):
    """A user who protects a feature protects every more sensitive one."""
    mask = draw(name, n, d)
    assert mask.shape == (n, d) and mask.dtype == bool
    assert (mask[:, :-1] >= mask[:, 1:]).all()


def test_users_come_in_random_order_from_the_stream():
    first, again, other = (draw("power_law", 500, 4, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # Position carries no information: among 50 draws, the chance that user 0 protects feature 2 in none or all
    # is 2 * 2^-50.
    flags = [draw("power_law", 10, 2, seed=s)[0, 1] for s in range(50)]
    assert 0 < sum(flags) < 50


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("alined", {}, "aligned"),
        ("aligned", {"n_protecte": 1}, "n_protected"),
        ("aligned", {"n_protected": 6}, "n_protected=6 must be a whole number from 0 to 5"),
        ("aligned", {"n_protected": True}, "whole number"),
        ("power_law", {"gamma": -1.0}, "gamma=-1.0 must be >= 0"),
        ("personalized", {"personalized_index": 2}, "must be 0 or 1"),
        ("label_only", {"gamma": 1}, "gamma"),
    ],
)
def test_impossible_requests(name, params, reason):
    with pytest.raises(ConfigurationError, match=reason):
        draw(name, 10, 5, **params)


#: A raw file with a one-hot column, a group, and rows that are dropped; what its rows protect is known by ``size``.
WHO = """title: T
task: regression
target: y
y_range: [0, 60]
rows: [{drop_missing: all}]
features: [{column: city, one_hot: [a, b, c]}, size, {column: job, map: {u: 0, v: 1}}, "left, kg", right]
groups: {arms: ["left, kg", right]}
sensitivity: {order: [right, city, job, size], reason: none}
sources: [{kind: file, files: {data: who/who.csv}}]
"""
N, NAMES = 60, ["city", "size", "job", "arms"]


@pytest.fixture
def who(workshop, tmp_path):
    cell = lambda k, text: "" if k % 7 == 3 else text  # noqa: E731
    rows = [f"{'abc'[k % 3]},{cell(k, str(k))},{'uv'[k % 2]},{k % 5},{k % 4},{k}" for k in range(N)]
    (workshop.mirror / "who").mkdir()
    (workshop.mirror / "who" / "who.csv").write_text('city,size,job,"left, kg",right,y\n' + "\n".join(rows))
    (workshop.manifests / "who.yaml").write_text(WHO)
    return tmp_path / "mask.csv"


MASKS = st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=N, max_size=N)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    MASKS,
    st.permutations(NAMES),
    st.booleans(),
    st.sampled_from(["01", ["False", "True"], ["no", "YES"], ["n", "y"]]),
    st.sampled_from(",;\t"),
)
def test_a_file_says_of_each_raw_row_what_it_protects_and_groups_stay_whole(who, table, order, one, words, separator):
    table = np.array(table[:1] if one else table)
    lines = [separator.join(words[int(row[NAMES.index(name)])] for name in order) for row in table]
    who.write_text("\n".join([separator.join(order), *lines]))
    problem = make_problem("who", {"scaling": "rows"}, "file", {"path": str(who)}, replication=3, seed=4)
    raw = np.round(problem.y_train).astype(int)  # rows of the file, some of which were dropped
    assert set(raw % 7) == {0, 1, 2, 4, 5, 6}
    for k, column in enumerate(problem.context["columns"]):
        group = "arms" if column in ("left, kg", "right") else column.partition("=")[0]
        right = table[np.zeros_like(raw) if one else raw, NAMES.index(group)]
        np.testing.assert_array_equal(problem.mask[:, k], right, err_msg=column)


def test_show_prints_the_header_of_a_mask_file(who, capsys):
    words = ["dataset=who", "method=private_mean", "mask=file", "replications=1"]
    assert main(["show", *words]) == 0
    out = capsys.readouterr().out
    assert out.endswith("replications=1 mask.params.path=FILE.csv (runs it)\n")
    (line,) = (line for line in out.splitlines() if line.startswith("header of a mask file: "))
    who.write_text(line.partition(": ")[2] + "\n1,0,0,1\n")
    assert main(["show", *words, f"mask.params.path={who}"]) == 0
    assert make_problem("who", None, "file", {"path": str(who)}).mask.any(axis=0).sum() in (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1,0,0,0\n0,1,0,0\n", "begins with cells, 1,0,0,0, and has no header; its header must be"),
        ("no,yes,No,YES\n", "has no header"),
        ("size\n1\n", "has no column arms, city, job; of a column that nobody protects every cell is 0"),
        (",city,size,job,arms\n0,1,0,0,0\n", "leave row numbers out"),
        ("city,size,job,arms\n1,0,0,maybe\n", "maybe must be 4 times 0 or 1, or no or yes"),
        ("city,size,job,arms\n1,0,0,\n", "line 2"),
        ("city=a,size,job,arms\n1,0,0,0\n", "'city' is missing"),
        ("city,size,job,arms,arms\n1,0,0,0,0\n", "'arms' is"),
        ("city,size,job,arms,right\n1,0,0,0,0\n", "'right' is"),
        ("city,size,job,arms\n1,0,0,2\n", "line 2: 1,0,0,2 must be 4 times 0 or 1"),
        ("city,size,job,arms\n1,0,0\n", "line 2"),
        ("city,size,job,arms\n" + "1,0,0,0\n" * 40, "40 rows below its header, expected 1 for all users, or 60"),
        ("city,size,job,arms\n", "0 rows"),
        ("", "cannot be read"),
    ],
)
def test_wrong_mask_files_are_one_sentence(who, content, reason):
    who.write_text(content)
    with pytest.raises(ConfigurationError, match=reason):
        make_problem("who", None, "file", {"path": str(who)})


@pytest.mark.parametrize("method", ["krr", "private_mean", "histoftree_cart"])
def test_a_file_is_checked_before_anything_runs_whether_the_method_reads_it_or_not(who, tmp_path, capsys, method):
    who.write_text("city,size,job,arms\n1,0,0,maybe\n")
    words = [
        "dataset=who",
        f"method={method}",
        "mask=file",
        f"mask.params.path={who}",
        "replications=1",
        "tracking=none",
    ]
    assert main([*words, f"results_dir={tmp_path / 'results'}"]) == 2
    said = capsys.readouterr()
    assert "maybe must be" in said.err and said.err.count("\n") == 1 and "[1/1]" not in said.out


def test_a_mask_file_that_is_gone_leaves_its_results_explained(who, tmp_path, capsys):
    who.write_text("city,size,job,arms\n1,0,0,1\n")
    words = ["dataset=who", "method=krr", "mask=file", f"mask.params.path={who}", "replications=1", "tracking=none"]
    assert main([*words, "epsilon=2", f"results_dir={tmp_path / 'results'}"]) == 0
    who.unlink()
    capsys.readouterr()
    assert main(["explain", "who", "krr", "2", "--results", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert (
        out.count("  replications ") == 2 and out.count("  spent: ") == out.count("  spent: unknown: mask file ") == 1
    )


def test_missing_file_and_missing_path():
    with pytest.raises(ConfigurationError, match="No such file"):
        make_problem("sine_sum", {"n": 10}, "file", {"path": "none.csv"})
    with pytest.raises(ConfigurationError, match="give `path`"):
        make_problem("sine_sum", {"n": 10}, "file", {"path": None})
