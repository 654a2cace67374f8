"""``lpbench stream``: send many simulated users through the curators; write ``streaming.csv`` and its figure."""

from __future__ import annotations

import argparse

import pandas as pd
from threadpoolctl import threadpool_limits

from lpbench.deployment.streams.measure import METHODS, measure


def stream(args: argparse.Namespace) -> int:
    """Measure, write, and say how it went."""
    from lpbench.reporting.streaming import draw_streaming, write_streaming

    folder = args.results.resolve() / "reproduced"
    with threadpool_limits(1):
        table = pd.concat([measure(method, args.users, args.seed) for method in args.method or METHODS])
    table = write_streaming(table, folder)
    draw_streaming(table, folder)
    for (method, step), part in table.groupby(["method", "step"], sort=False):
        last = part.iloc[-1]
        print(
            f"{method} {step}: {last['users']:.3g} users, {last['users_per_second']:.3g} a second, "
            f"at most {last['peak_mb']:.0f} MB"
        )
    print(f"written: {folder / 'streaming.csv'}")
    return 0
