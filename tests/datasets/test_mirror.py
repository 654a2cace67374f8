"""The real files: the papers' n and d, the authors' cleaned copies, and the accuracies they logged."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from lpbench.datasets import describe, load_manifest, load_table, make_problem
from lpbench.datasets.sources import locate
from lpbench.datasets.splits import first_occurrences, min_max_scale
from lpbench.errors import DataError, MissingDataError

pytestmark = pytest.mark.mirror

REGRESSION = {
    "abalone": ("ABA", 4177, 8),
    "aquatic_toxicity": ("AQU", 546, 8),
    "building": ("BUI", 372, 107),
    "istanbul_stock": ("DAK", 536, 8),
    "fish_toxicity": ("FIS", 908, 6),
    "music_origin": ("MUS", 1059, 68),
    "portfolio": ("POR", 63, 6),
    "pyrimidines": ("PYR", 74, 27),
    "red_wine": ("RED", 1599, 11),
    "white_wine": ("WHI", 4898, 11),
}
CLASSIFICATION = "anonymity diabetes email employ rice census election employee landcover".split()


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Parse into a cache of this run, so that the raw files are read and not an older parse of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LPBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def mirror() -> Path:
    return Path(os.environ["LPBENCH_DATA_MIRROR"])


def author_copy(path: str) -> tuple[np.ndarray, np.ndarray]:
    values = np.loadtxt(mirror() / path, delimiter=",")
    return values[:, 1:], values[:, 0]


@pytest.mark.parametrize("name", REGRESSION)
def test_regression_equals_the_authors_copy(name):
    """Row by row in file order, after min-max scaling, which is all that H does to the features."""
    folder, n, d = REGRESSION[name]
    table, (X, y) = load_table(name), author_copy(f"{folder}/author_clean.csv")
    assert table.X.shape == (n, d) == X.shape
    np.testing.assert_allclose(table.y, y, atol=1e-9)
    # The LIBSVM copy of abalone is rounded to six digits.
    np.testing.assert_allclose(min_max_scale(table.X, table.X), min_max_scale(X, X), atol=2e-6)
    assert load_manifest(name).y_range == (table.y.min(), table.y.max())


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classification_has_the_sizes_that_are_described(name):
    facts, problem = describe(name), make_problem(name)
    assert problem.X_train.shape == (facts.n_train, facts.n_features)
    assert problem.X_public.shape == (facts.n_public, facts.n_features)
    assert set(np.unique(problem.y_train)) == {0, 1}


def test_diabetes_equals_the_authors_copy():
    table = load_table("diabetes")
    for part, rows in (("pub", table.public), ("pri", ~table.public)):
        X, y = author_copy(f"diabetes/author_clean_{part}.csv")
        np.testing.assert_array_equal(table.X[rows], X)
        np.testing.assert_array_equal(table.y[rows], y)


def test_files_are_found_in_the_mirror():
    for name in [*REGRESSION, *CLASSIFICATION]:
        assert locate(load_manifest(name)).place == "mirror"


def published_accuracy(name: str, whole: bool) -> float:
    """Best of depths 1..16 of the mean over the 20 legacy splits, tree on public rows (or on all training rows)."""
    scores = np.empty((20, 16))
    for r in range(20):
        problem = make_problem(name, {"split": "published"}, replication=r)
        X, y = problem.X_public, problem.y_public
        if whole:
            X, y = np.vstack([problem.X_train, X]), np.concatenate([problem.y_train, y])
        for depth in range(1, 17):
            tree = DecisionTreeClassifier(max_depth=depth, random_state=r).fit(X, y)
            scores[r, depth - 1] = problem.score(tree.predict(problem.X_test))
    return scores.mean(axis=0).max()


@pytest.mark.parametrize(
    ("name", "whole", "logged"),
    [
        ("diabetes", False, 0.750097),
        ("employ", False, 0.907720),
        ("employ", True, 0.904757),
        ("employee", True, 0.764759),
    ],
)
def test_trees_reach_the_accuracies_the_authors_logged(name, whole, logged):
    """Their log holds six digits per run, so the mean may differ by one in the last."""
    assert published_accuracy(name, whole) == pytest.approx(logged, abs=1.5e-6)


def test_landcovers_rows_outside_the_public_range_are_forest():
    """Most private rows lie outside, nearly all of them of class 0, which is what the authors' rule predicts there."""
    problem = make_problem("landcover", {"split": "published"}, replication=0)
    outside = ((problem.X_train < 0) | (problem.X_train > 1)).any(axis=1)
    assert 0.6 < outside.mean() < 0.7
    assert np.mean(problem.y_train[outside] == 0) > 0.9


def test_anonymity_constant_classifier():
    problems = [make_problem("anonymity", {"split": "published"}, replication=r) for r in range(20)]
    assert np.mean([np.mean(p.y_test == 0) for p in problems]) == pytest.approx(0.834649, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "distinct"), [("diabetes", 778), ("employ", 155), ("employee", None), ("email", 4631)]
)
def test_duplicates(name, distinct):
    """Distinct rows, in features and label, are those that the sources count; each is kept once."""
    table = load_table(name)
    kept = first_occurrences(table.X, table.y, table.public)
    if distinct is not None:
        assert kept.size == distinct
    facts = describe(name, {"deduplicate": True})
    assert facts.n_train + facts.n_test + facts.n_public == kept.size
    problem = make_problem(name, {"deduplicate": True})
    rows = np.column_stack([np.vstack([problem.X_train, problem.X_test, problem.X_public]),
                            np.concatenate([problem.y_train, problem.y_test, problem.y_public])])  # fmt: skip
    assert len({row.tobytes() for row in rows}) == kept.size


class TestJobs:
    """The partial file must never pass for the data set."""

    def place(self, tmp_path, monkeypatch, path):
        folder = tmp_path / "jobs"
        folder.mkdir()
        content = (mirror() / "jobs" / "partial_salary_over_100k.csv.gz").read_bytes()
        (folder / path).write_bytes(content)
        monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(tmp_path))

    def test_the_mirror_holds_no_jobs_and_no_taxi(self):
        for name in ("jobs", "taxi"):
            assert not describe(name).available
            with pytest.raises(MissingDataError, match="its place is"):
                make_problem(name)

    def test_the_partial_file_under_the_right_name_is_refused(self, tmp_path, monkeypatch):
        self.place(tmp_path, monkeypatch, "stackoverflow_full.csv.gz")
        with pytest.raises(DataError, match="has 16647 rows, expected 73462; it is not the whole file"):
            make_problem("jobs")
