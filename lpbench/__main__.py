"""``python -m lpbench`` is the ``lpbench`` command."""

import sys

from lpbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
