"""The loaders of jobs and taxi on invented files with the published columns: they run the day the data are there."""

import numpy as np
import pandas as pd
import pytest

from lpbench.datasets import describe, load_table, make_problem
from lpbench.errors import DataError

N_JOBS, N_NONBINARY, N_US = 73462, 1371, 14318


@pytest.fixture
def jobs(workshop):
    """A file of the size of the data set whose counts add up to the paper's."""
    rng = np.random.default_rng(0)
    country = np.where(np.arange(N_JOBS) < N_US, "United States of America", "Chile")
    frame = pd.DataFrame(
        {
            "Age": rng.choice(["<35", ">35"], N_JOBS),
            "Accessibility": rng.choice(["No", "Yes"], N_JOBS),
            "EdLevel": rng.choice(["NoHigherEd", "Other", "Undergraduate", "Master", "PhD"], N_JOBS),
            "Employment": rng.integers(0, 2, N_JOBS),
            "Gender": np.where(
                np.arange(N_JOBS) >= N_JOBS - N_NONBINARY, "NonBinary", rng.choice(["Man", "Woman"], N_JOBS)
            ),
            "MentalHealth": rng.choice(["No", "Yes"], N_JOBS),
            "MainBranch": rng.choice(["Dev", "NotDev"], N_JOBS),
            "YearsCode": rng.integers(0, 50, N_JOBS),
            "YearsCodePro": rng.integers(0, 50, N_JOBS),
            "Country": country,
            "PreviousSalary": rng.random(N_JOBS) * 2e5,
            "HaveWorkedWith": "C++;Python",
            "ComputerSkills": rng.integers(0, 100, N_JOBS),
            "Employed": rng.integers(0, 2, N_JOBS),
        }
    )
    (workshop.mirror / "jobs").mkdir()
    return frame, workshop.mirror / "jobs" / "stackoverflow_full.csv"


def test_jobs_gives_the_papers_sizes(jobs):
    frame, path = jobs
    frame.to_csv(path)
    problem = make_problem("jobs")
    assert problem.X_train.shape == (46218, 11)
    assert len(problem.y_public) == N_US
    table = load_table("jobs")
    kept = frame[frame.Gender != "NonBinary"]
    np.testing.assert_array_equal(table.X[:, 0], (kept.Age == ">35").astype(float))
    np.testing.assert_array_equal(table.X[:, 4], (kept.Gender == "Woman").astype(float))
    np.testing.assert_array_equal(table.y, kept.Employed)
    facts = describe("jobs")
    assert facts.available and (facts.n_train, facts.n_public) == (46218, N_US)


def test_jobs_without_a_column_is_refused(jobs):
    frame, path = jobs
    frame.drop(columns="MentalHealth").to_csv(path)
    with pytest.raises(DataError, match="column 'MentalHealth' is missing"):
        load_table("jobs")


def test_taxi_has_93_features(workshop):
    rng = np.random.default_rng(1)
    n = 3000
    columns = {
        "taxi_id": rng.integers(1000000, 2000000, n),
        "shift": rng.integers(0, 21, n),
        "company_id": rng.choice([3, 7, 11], n, p=[0.2, 0.3, 0.5]),
        "pickup_community_area": rng.choice([-1, *range(1, 78)], n),
        "dropoff_community_area": rng.choice([-1, *range(1, 78)], n),
        "payment_type": rng.choice([-1, 0, 1, 2, 8], n),
        "trip_day_of_week": rng.integers(0, 7, n),
        "trip_hour_of_day": rng.integers(0, 24, n),
        **{name: rng.integers(-1, 50, n) for name in ("fare", "tips", "trip_total", "trip_seconds", "trip_miles")},
    }
    frame = pd.DataFrame(columns)
    (workshop.mirror / "taxi").mkdir()
    frame.to_csv(workshop.mirror / "taxi" / "ground_truth.csv", index=False)
    table = load_table("taxi")
    kept = frame[frame.payment_type.isin([0, 1])]
    measured = [c for c in columns if c not in ("payment_type",)]
    kept = kept[(kept[measured] != -1).all(axis=1)]
    assert table.X.shape == (len(kept), 93)
    np.testing.assert_array_equal(table.y, kept.payment_type)
    np.testing.assert_array_equal(table.X[:, 2:79].argmax(axis=1) + 1, kept.pickup_community_area)
    # The largest company is nearest to the paper's public sample.
    np.testing.assert_array_equal(table.public, kept.company_id == 11)
