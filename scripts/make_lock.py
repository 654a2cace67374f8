"""Write requirements.lock: the exact versions installed here, without any index address."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

LEFT_OUT = {"pip", "lpbench"}


def main() -> None:
    """Write the lock file beside pyproject.toml."""
    pins = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in distributions()}
    lines = [f"{name}=={version}" for name, version in sorted(pins.items()) if name not in LEFT_OUT]
    target = Path(__file__).resolve().parents[1] / "requirements.lock"
    target.write_text("# Written by `make lock`; install with `make install`.\n" + "\n".join(lines) + "\n")
    print(f"{len(lines)} pins in {target.name}")


if __name__ == "__main__":
    main()
