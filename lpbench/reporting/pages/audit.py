"""The privacy audit's files ``audit.json`` and ``audit.md``, and the content of its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from lpbench.files import write_text
from lpbench.reporting.paper import papers
from lpbench.reporting.render import render

#: Findings of the last audit, from which its page is made.
FILE = "audit.json"
_RELEASED = ("where", "commit", "what the file does", "privacy loss", "rebuilt as")


def write_audit(found: Mapping, folder: Path) -> None:
    """Write ``audit.json`` and ``audit.md`` from :func:`lpbench.audit.findings.findings`."""
    write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", folder / FILE)
    write_text(render("audit.md.j2", **audit_page(folder)), folder / "audit.md")


def audit_page(folder: Path) -> dict:
    """Collect the page's content: findings and, of each released code, the deviations that bear on privacy."""
    released = {
        p.repository: [(d.place, d.commit, d.fact, d.loss, d.known_bad) for d in p.deviations if d.loss]
        for p in papers()
        if p.deviations
    }
    found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return {"title": "Privacy audit", "audit": found, "released": released, "released_heads": _RELEASED}
