"""``python -m lpbench.datasets``: fetch missing files, check all, list what is at hand."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from lpbench.datasets.download import Settings, download
from lpbench.datasets.manifest import Manifest, list_datasets, load_manifest
from lpbench.datasets.sources import how_to_get, load_table, locate
from lpbench.errors import DataError


@dataclass(frozen=True)
class Row:
    """One line of the final table."""

    name: str
    size: str
    state: str
    note: str
    failed: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch and check data sets; return 1 if one that a server should deliver, or one asked for by name, is missing."""
    options = _parse(arguments)
    # openml logs a warning per uncompressed answer to the root logger.
    logging.getLogger().setLevel(logging.ERROR)
    addresses = {"openml_url": options.openml_url, "uci_url": options.uci_url}
    settings = Settings(
        timeout=options.timeout,
        retries=options.retries,
        backoff=options.backoff,
        **{key: value for key, value in addresses.items() if value},
    )
    rows = []
    for name in options.names or list_datasets():
        try:
            manifest = load_manifest(name)
            if not manifest.synthetic:
                rows.append(_obtain(manifest, None if options.offline else settings, asked=bool(options.names)))
        except DataError as error:  # one manifest that cannot be used stops no other
            rows.append(Row(name, "", "refused", str(error), failed=True))
    print(format_rows(rows))
    return int(any(row.failed for row in rows))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lpbench.datasets", description=__doc__)
    parser.add_argument("names", nargs="*", help="data sets (default: all real ones)")
    parser.add_argument("--offline", action="store_true", help="check what is at hand, download nothing")
    parser.add_argument("--openml-url", help="base address of OpenML (or LPBENCH_OPENML_URL)")
    parser.add_argument("--uci-url", help="base address of the UCI archive (or LPBENCH_UCI_URL)")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds without an answer (default 30)")
    parser.add_argument("--retries", type=int, default=3, help="further attempts after a passing failure (default 3)")
    parser.add_argument("--backoff", type=float, default=1.0, help="seconds before the first of them (default 1)")
    return parser.parse_args(arguments)


def _obtain(manifest: Manifest, settings: Settings | None, asked: bool) -> Row:
    """Check the files at hand, download if there are none (or those in the cache are damaged), check again."""
    reasons: list[str] = []
    location = locate(manifest)
    served = any(source["kind"] in ("openml", "uci") for source in manifest.sources)
    if location is not None:
        try:
            return _present(manifest, location.place)
        except DataError as error:
            reasons.append(str(error))
    replaceable = location is None or location.place == "cache"
    if settings is not None and served and replaceable:
        place, failures = download(manifest, settings)
        reasons += failures
        if place is not None:
            return _present(manifest, f"downloaded from {place}")
    state = "missing" if location is None else "damaged"
    failed = asked or location is not None or (served and settings is not None)
    return Row(manifest.name, "", state, "; ".join([*reasons, how_to_get(manifest)]), failed)


def _present(manifest: Manifest, place: str) -> Row:
    table = load_table(manifest.name)
    found = table.fingerprint
    size = f"{found['rows']} x {found['features']}" + (f", {found['public']} public" if found["public"] else "")
    note = "" if manifest.fingerprint.get("values") else "no fingerprint yet: not verified"
    return Row(manifest.name, size, place, note, failed=False)


def format_rows(rows: Sequence[Row]) -> str:
    """Format the final table, notes on lines of their own."""
    header = ("data set", "rows x features", "where")
    cells = [(row.name, row.size, row.state) for row in rows]
    widths = [max(len(line[k]) for line in [header, *cells]) for k in range(3)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(header, widths, strict=True)).rstrip()]
    for row, line in zip(rows, cells, strict=True):
        lines.append("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
        if row.note:
            lines.append(f"    {row.note}")
    present = sum(bool(row.size) for row in rows)
    return "\n".join([*lines, f"{present} of {len(rows)} data sets are at hand."])


if __name__ == "__main__":
    sys.exit(main())
