"""``python -m lpbench.datasets``: fetch missing files, check all, list what is at hand."""

import argparse
import sys
from collections.abc import Sequence

from lpbench.datasets.download import NoNetworkError, Settings, download
from lpbench.datasets.manifest import Manifest, list_datasets, load_manifest
from lpbench.datasets.sources import SERVED, how_to_get, load_table, locate
from lpbench.errors import DataError, LpbenchError

#: Rows and features, where the files are, a note, and whether something failed.
Found = tuple[str, str, str, bool]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch and check data sets; return 1 if one that a server should deliver, or one asked for by name, is missing."""
    options = _parse(arguments)
    settings = Settings(options.timeout, options.retries)
    names = options.names or list_datasets()
    width, lines, served = max(map(len, names)), list[Found](), None if options.offline else settings
    for name in names:
        try:
            manifest = load_manifest(name)
            if manifest.synthetic:
                continue
            try:
                lines.append(_obtain(manifest, served, by_name=bool(options.names)))
            except NoNetworkError as error:  # not asked again
                print(f"error: {error}; what is at hand is checked", file=sys.stderr, flush=True)
                served = None
                lines.append(_obtain(manifest, served, by_name=True))
        except LpbenchError as error:  # one manifest that cannot be used stops no other
            lines.append(("", "refused", str(error), True))
        size, origin, note, _ = lines[-1]
        print(f"{name:{width}}  {size:25}  {origin}" + (f"\n    {note}" if note else ""), flush=True)
    print(f"{sum(bool(size) for size, *_ in lines)} of {len(lines)} data sets are at hand.")
    return int(any(failed for *_, failed in lines))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line of ``python -m lpbench.datasets``."""
    parser = argparse.ArgumentParser(prog="python -m lpbench.datasets", description=__doc__)
    parser.add_argument("names", nargs="*", help="data sets (default: all real ones)")
    parser.add_argument("--offline", action="store_true", help="check what is at hand, download nothing")
    parser.add_argument("--timeout", type=float, default=Settings.timeout, help="seconds of silence (default 30)")
    parser.add_argument("--retries", type=int, default=Settings.retries, help="attempts after a failure (default 3)")
    return parser.parse_args(arguments)


def _obtain(manifest: Manifest, settings: Settings | None, by_name: bool) -> Found:
    """Check the files at hand, download if there are none (or those in the cache are damaged), check again.

    ``settings`` None: offline. Returned are size, state or origin, a note, and True if it counts as a failure; a data
    set that cannot be downloaded counts only if asked for ``by_name``.
    """
    reasons: list[str] = []
    location = locate(manifest)
    served = any(source["kind"] in SERVED for source in manifest.sources)
    if location is not None:
        try:
            return _present(manifest, location.place)
        except DataError as error:
            reasons.append(str(error))
    if settings is not None and served and (location is None or location.place == "cache"):
        server, failures = download(manifest, settings)
        reasons += failures
        if server is not None:
            return _present(manifest, f"downloaded from {server}")
    state = "missing" if location is None else "damaged"
    failed = by_name or location is not None or (served and settings is not None)
    return "", state, "; ".join([*reasons, how_to_get(manifest)]), failed


def _present(manifest: Manifest, origin: str) -> Found:
    """Load a table and return its size, origin, a note (no fingerprint yet) and False: no failure."""
    fingerprint = load_table(manifest.name, sealed=True).fingerprint
    size = f"{fingerprint['rows']} x {fingerprint['features']}" + (
        f", {fingerprint['public']} public" if fingerprint["public"] else ""
    )
    note = "" if manifest.fingerprint.get("values") else "no fingerprint yet: not verified"
    return size, origin, note, False


if __name__ == "__main__":
    sys.exit(main())
