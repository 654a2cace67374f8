"""Where the project's own files are: configuration, manifests, published numbers."""

from __future__ import annotations

from pathlib import Path

#: Root of the checkout (the package is installed in editable mode by the Makefile).
ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
MANIFESTS = ROOT / "datasets"
PUBLISHED = ROOT / "results" / "published"
