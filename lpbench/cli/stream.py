"""``lpbench stream``: send many simulated users through the curators; write ``streaming.csv`` and its figure."""

from __future__ import annotations

from pathlib import Path

import click

from lpbench.cli import options


@click.command(epilog="Writes reproduced/streaming.csv and a figure.")
@options.count("--users", "Users; 10^8 take some minutes.", 10**8)
@options.seed("Seed of the users.")
@options.results()
def command(users: int, seed: int, results: Path) -> int:
    """Send simulated users through curators whose memory does not grow.

    Measures users per second and memory.
    """
    import pandas as pd
    from threadpoolctl import threadpool_limits

    from lpbench.deployment.streams.measure import METHODS, measure
    from lpbench.reporting.streaming import draw_streaming, write_streaming

    folder = results / "reproduced"
    with threadpool_limits(1):
        table = pd.concat([measure(name, users, seed) for name in METHODS])
    write_streaming(table, folder)
    draw_streaming(table, folder)
    for (name, step), part in table.groupby(["method", "step"], sort=False):
        last = part.iloc[-1]
        print(
            f"{name} {step}: {last['users']:.3g} users, {last['users_per_second']:.3g} a second, "
            f"at most {last['peak_mb']:.0f} MB"
        )
    print(f"written: {folder / 'streaming.csv'}")
    return 0
