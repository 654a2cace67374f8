"""Answers of a small OpenML, written by hand after the documentation of its API: ten odd kinds of data sets.

https://www.openml.org/api_docs: ``data/{id}`` is a ``data_set_description``, ``data/features/{id}`` lists the columns,
``task/{id}`` names the splits, an ARFF file with ``type``, ``rowid``, ``repeat`` and ``fold``; an error is an
``oml:error`` with status 412.
"""

import hashlib
from html import escape

from tests.datasets.server import Answer, FakeServer

ROWS = 60


def arff(attributes: dict[str, str], rows: list[str], sparse: bool = False) -> str:
    """Write an ARFF file of attributes (name: type) and rows."""
    head = "".join(f"@ATTRIBUTE {name} {kind}\n" for name, kind in attributes.items())
    return f"% a remark\n@RELATION odd\n\n{head}\n@DATA\n" + "".join(f"{row}\n" for row in rows)


def described(server: FakeServer, data_id: int, content: str, **said: str | list[str] | None) -> None:
    """Answer the address of a data set with a description and that of its file with its content."""
    path = f"/data/v1/download/{data_id}/odd.arff"
    facts: dict = {
        "id": str(data_id),
        "name": "odd",
        "version": "2",
        "description": "an odd one",
        "format": "ARFF",
        "licence": "CC0",  # codespell:ignore licence
        "url": server.url + path,
        "default_target_attribute": "y",
        "citation": "Odd (2026)",
        "visibility": "public",
        "status": "active",
        "md5_checksum": hashlib.md5(content.encode()).hexdigest(),
    }
    facts |= said
    tags = [(k, v) for k, many in facts.items() for v in (many if isinstance(many, list) else [many]) if v is not None]
    body = "".join(f"<oml:{key}>{escape(value)}</oml:{key}>" for key, value in tags)
    xml = f'<oml:data_set_description xmlns:oml="http://openml.org/openml">{body}</oml:data_set_description>'
    server.add(f"/api/v1/xml/data/{data_id}", Answer(xml.encode()))
    server.add(path, Answer(content.encode()))


def plain(k: int) -> str:
    """A row of two features."""
    return f"{k % 7},{k * 0.5}"


TWO = {"a": "INTEGER", "b": "REAL"}
DATES = [f"2024-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(ROWS)]
CLASSES = [f"c{k:02d}" for k in range(12)]


def odd_ones(server: FakeServer) -> None:
    """Serve the ten kinds, ids 101 to 110, and a data set with nothing odd, 100, that has a task, 900."""
    numbers = [f"{plain(k)},{k % 11}" for k in range(ROWS)]
    classes = [f"{plain(k)},{'yes' if k % 3 else 'no'}" for k in range(ROWS)]
    described(server, 100, arff({**TWO, "y": "{no,yes}"}, classes))
    sparse = [f"{{{f'1 {k * 0.5}, ' if k % 2 else ''}2 {'yes' if k % 3 else 'no'}}}" for k in range(ROWS)]
    described(server, 101, arff({**TWO, "y": "{no,yes}"}, sparse), format="Sparse_ARFF")
    texts = [f"{row.rpartition(',')[0]},'a text, no. {k}',{k % 11}" for k, row in enumerate(numbers)]
    described(server, 102, arff({**TWO, "remark": "STRING", "y": "NUMERIC"}, texts))
    dated = [f'{plain(k)},"{DATES[k]}",{k % 11}' for k in range(ROWS)]
    described(server, 103, arff({**TWO, "seen": 'DATE "yyyy-MM-dd"', "y": "NUMERIC"}, dated))
    described(server, 104, arff({**TWO, "c": "REAL", "d": "REAL", "y": "NUMERIC"}, [
        f"{plain(k)},{k % 5},{k % 4},{k % 11}" for k in range(ROWS)]), ignore_attribute=["c", "d"])  # fmt: skip
    many = [f"{plain(k)},{CLASSES[k % 12]}" for k in range(ROWS)]
    described(server, 105, arff({**TWO, "y": "{" + ",".join(CLASSES) + "}"}, many))
    described(server, 106, arff({**TWO, "y": "NUMERIC"}, numbers), default_target_attribute=None)
    described(server, 107, arff({**TWO, "y": "NUMERIC"}, numbers), status="deactivated")
    described(server, 108, arff({**TWO, "y": "NUMERIC"}, numbers * 200))
    identified = [f"{7 * k % 61},{row}" for k, row in enumerate(numbers)]
    described(server, 109, arff({"who": "INTEGER", **TWO, "y": "NUMERIC"}, identified), row_id_attribute="who")
    foreign = [f"{('rot', 'größer', '大')[k % 3]},{row}" for k, row in enumerate(numbers)]
    described(
        server,
        110,
        arff({"Farbe": "{rot,'größer',大}", "größe": "INTEGER", "b": "REAL", "'Zahl der Käufe'": "NUMERIC"}, foreign),
        default_target_attribute="Zahl der Käufe",
        licence="© Ämter",  # codespell:ignore licence
        name="Käufe",
    )


TASK = """<oml:task xmlns:oml="http://openml.org/openml"><oml:task_id>{task}</oml:task_id>
<oml:task_type_id>1</oml:task_type_id><oml:task_type>Supervised Classification</oml:task_type>
<oml:input name="source_data"><oml:data_set><oml:data_set_id>{data}</oml:data_set_id>
<oml:target_feature>y</oml:target_feature></oml:data_set></oml:input>
<oml:input name="estimation_procedure"><oml:estimation_procedure><oml:id>1</oml:id>
<oml:type>crossvalidation</oml:type><oml:data_splits_url>{url}</oml:data_splits_url>
<oml:parameter name="number_repeats">1</oml:parameter><oml:parameter name="number_folds">3</oml:parameter>
</oml:estimation_procedure></oml:input>
<oml:input name="evaluation_measures"><oml:evaluation_measures>
<oml:evaluation_measure>predictive_accuracy</oml:evaluation_measure></oml:evaluation_measures></oml:input></oml:task>"""
FEATURES = """<oml:data_features xmlns:oml="http://openml.org/openml">{}</oml:data_features>"""
FEATURE = """<oml:feature><oml:index>{}</oml:index><oml:name>{}</oml:name><oml:data_type>{}</oml:data_type>{}
<oml:is_target>false</oml:is_target></oml:feature>"""


def with_task(server: FakeServer, task: int = 900, data_id: int = 100) -> None:
    """Serve a task of three folds, row r being in fold r mod 3, and the columns of its data set."""
    path = f"/api_splits/get/{task}/splits.arff"
    rows = [f"{'TEST' if row % 3 == fold else 'TRAIN'},{row},0,{fold}" for fold in range(3) for row in range(ROWS)]
    kinds = {"type": "{TRAIN,TEST}", "rowid": "INTEGER", "repeat": "INTEGER", "fold": "INTEGER"}
    server.add(path, Answer(arff(kinds, rows).encode()))
    server.add(f"/api/v1/xml/task/{task}", Answer(TASK.format(task=task, data=data_id, url=server.url + path).encode()))
    columns = [("a", "numeric", ""), ("b", "numeric", ""), ("y", "nominal", "")]
    nominal = "<oml:nominal_value>no</oml:nominal_value><oml:nominal_value>yes</oml:nominal_value>"
    columns[2] = ("y", "nominal", nominal)
    body = "".join(FEATURE.format(k, *column) for k, column in enumerate(columns))
    server.add(f"/api/v1/xml/data/features/{data_id}", Answer(FEATURES.format(body).encode()))
