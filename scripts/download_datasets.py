"""Fetch the data sets (what ``make datasets`` runs); see ``--help`` and datasets/README.md."""

import sys

from lpbench.datasets.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
