"""Write the exact versions installed here, without any index address.

requirements.lock has what lpbench and its tests need; requirements-engines.lock and requirements-docs.lock, what the
extras for clusters and for the documentation need beyond that.
"""

from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = {"pip", "lpbench"}
#: Extras with a lock file of their own, and the command that installs it.
SEPARATE = {
    "requirements-engines.lock": (frozenset({"dask", "ray", "launchers"}), "make engines"),
    "requirements-docs.lock": (frozenset({"docs"}), "make docs"),
}


def closure(name: str, extras: frozenset[str], seen: dict[tuple, None] | None = None) -> set[str]:
    """Names of the installed packages that a package needs with some of its extras, itself included."""
    seen = {} if seen is None else seen
    try:
        requires = distribution(name).requires or []
    except PackageNotFoundError:
        return set()
    if (name, extras) not in seen:
        seen[name, extras] = None
        for requirement in map(Requirement, requires):
            wanted = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras | {""})
            if wanted:
                closure(canonicalize_name(requirement.name), frozenset(requirement.extras), seen)
    return {package for package, _ in seen}


def _is_of(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is not None and any(marker.evaluate({"extra": extra}) for extra in extras)


def write(name: str, header: str, pins: dict[str, str]) -> None:
    """Write one lock file beside pyproject.toml."""
    lines = [f"{package}=={version}" for package, version in sorted(pins.items())]
    (ROOT / name).write_text("\n".join([f"# {header}", *lines]) + "\n")
    print(f"{len(lines)} pins in {name}")


def main() -> None:
    """Write the lock files; that of an extra only where all of it is installed."""
    pins = {canonicalize_name(d.metadata["Name"]): d.version for d in distributions()}
    known = set(distribution("lpbench").metadata.get_all("Provides-Extra") or [])
    required = [Requirement(line) for line in distribution("lpbench").requires or []]
    everywhere = closure("lpbench", frozenset(known).difference(*(extras for extras, _ in SEPARATE.values())))
    beyond = {name: closure("lpbench", extras) - everywhere for name, (extras, _) in SEPARATE.items()}
    base = {p: v for p, v in pins.items() if p not in LEFT_OUT.union(*beyond.values())}
    write("requirements.lock", "Written by `make lock`; install with `make install`.", base)
    for name, (extras, command) in SEPARATE.items():
        if all(canonicalize_name(r.name) in pins for r in required if _is_of(r, extras)):
            header = f"Written by `make lock`; install with `{command}`."
            write(name, header, {p: v for p, v in pins.items() if p in beyond[name]})


if __name__ == "__main__":
    main()
