import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.public_table import PublicTable
from lpbench.masks import through

TABLE = pd.DataFrame(
    {"age": [20.0, None, 120.0], "city": ["Oslo", None, "Rome"], "joined": ["2020-01-01", "2020-01-11", None]}
)
DECLARED = {"age": (0, 100), "city": ["Oslo", "Rome", "Lima"], "joined": ("2020-01-01", "2020-01-21")}


def test_cells_become_features_by_what_is_declared_and_no_row_is_lost():
    table = PublicTable(DECLARED, missing={"age": 40, "city": "level", "joined": "2020-01-21"})
    made = clone(table).set_output(transform="pandas").fit_transform(TABLE)
    assert list(made) == ["age", "city_Oslo", "city_Rome", "city_Lima", "city_missing", "joined"]
    np.testing.assert_array_equal(made, [[0.2, 1, 0, 0, 0, 0], [0.4, 0, 0, 0, 1, 0.5], [1, 0, 1, 0, 0, 1]])
    assert through(table.fit(TABLE), ["city"]).tolist() == [False, True, True, True, True, False]
    stamps = TABLE.assign(joined=pd.to_datetime(TABLE["joined"]))
    np.testing.assert_array_equal(table.fit(TABLE[:0]).transform(stamps), made)


def test_missing_cells_have_a_level_of_their_own_everywhere():
    made = PublicTable(DECLARED, missing="level").set_output(transform="pandas").fit_transform(TABLE)
    assert made["age_missing"].tolist() == [0, 1, 0] and made["age"].tolist() == [0.2, 0.5, 1.0]
    assert made["joined_missing"].tolist() == [0, 0, 1] and made["joined"].tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("columns", "table", "message"),
    [
        ({}, {"age": [None, 1.0]}, r"'age' .*missing=\{'age': VALUE\} or missing=\{'age': 'level'\}"),
        ({}, {"city": "Paris"}, r"'city' .*columns\['city'\]"),
        ({}, {"joined": "3/4/20"}, "'joined' must hold dates as YYYY-MM-DD, .*: ValueError$"),
        ({}, {"age": "elderly"}, "'age' must hold numbers: ValueError$"),
        ({}, {"zip": 1}, "undeclared column 'zip'.*`columns`"),
        ({"sex": ["f"]}, {}, "no column 'sex'"),
        ({"age": (9, 3)}, {}, r"columns\['age'\]=\[9.0, 3.0\]"),
        ({"city": []}, {}, r"columns\['city'\]=\[\]"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_was_not_declared_is_one_sentence_without_a_private_value(columns, table, message):
    plain = {"age": [20.0, 1.0], "city": ["Oslo", "Rome"], "joined": ["2020-01-01", "2020-01-02"]}
    with pytest.raises((DataError, ConfigurationError), match=message) as refused:
        PublicTable({**DECLARED, **columns}).fit_transform(pd.DataFrame({**plain, **table}))
    assert not [word for word in ("Paris", "3/4/20", "elderly") if word in str(refused.value)]
