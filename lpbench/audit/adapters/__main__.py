"""The table of libraries' randomizers and its page, anew: ``python -m lpbench.audit.adapters TABLE.csv PAGE.md``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from lpbench.audit.adapters import page
from lpbench.audit.adapters.table import audit_all, write_csv

if __name__ == "__main__":
    table, text = map(Path, sys.argv[1:])
    write_csv(audit_all(), table)
    with table.open(encoding="utf-8", newline="") as file:
        text.write_text(page(list(csv.DictReader(file))), encoding="utf-8")
