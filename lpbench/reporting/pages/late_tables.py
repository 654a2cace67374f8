"""Tables that a page does not carry: a script beside it holds them, and they come when their fold is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lpbench.reporting.pages.tables import SELECTIONS
from lpbench.reporting.render import render

#: Characters of an experiment's folded tables beyond which they stand in a script.
MANY = 8_000
#: Folder of the scripts beside the pages.
FOLDER = "tables"


def set_apart(unit: Mapping) -> dict[str, object]:
    """What a unit shows of its folded tables: nothing new if they are short, else the script that holds them.

    Parameters
    ----------
    unit : mapping
        As :func:`lpbench.reporting.pages.units.unit` makes it.

    Returns
    -------
    dict
        ``late``: address of the script, empty without one; ``late_script``: its text.
    """
    folded = [*(unit["tables"][1:] if unit["first_table"] else unit["tables"]), *unit["free_tables"]]
    tables = [render("late_table.html.j2", table=table, selections=SELECTIONS) for table in folded]
    if unit["points"]:
        tables.append(render("late_points.html.j2", points=unit["points"], title=unit["title"]))
    if sum(map(len, tables)) <= MANY:
        return {"late": "", "late_script": ""}
    address = f"{FOLDER}/{unit['name'].replace('/', '-')}.js"
    held = json.dumps(tables, ensure_ascii=False, separators=(",", ":"))
    return {"late": address, "late_script": f"(window.TABLES ??= {{}})[{json.dumps(address)}] = {held};\n"}
