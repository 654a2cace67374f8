"""The command line: Hydra for experiments and sweeps, a few plain subcommands around it."""

from __future__ import annotations

import sys

from lpbench.errors import LpbenchError

USAGE = """lpbench - reproducible experiments in locally private learning

Run
  lpbench dataset=abalone method=histoftree_cart epsilon=2        one cell
  lpbench -m dataset=abalone,red_wine method=krr,hist epsilon=1,2 a sweep (one job per combination)
  lpbench experiment=histoftree/table1                            one table or figure of a paper
  lpbench reproduce 'histoftree/*'                                many, with a report

Look
  lpbench list methods|datasets|masks|experiments                 what there is
  lpbench plan experiment=histoftree/table1                       blocks, fits and time, without running
  lpbench show histoftree/table1                                  what an experiment runs, and its table
  lpbench explain abalone histoftree_cart 2                       what was selected and spent, with the replications
  lpbench report                                                  rewrite the report from the results
  lpbench audit                                                   check the privacy of every method
  lpbench ui                                                      browse the runs in MLflow (127.0.0.1)

Help
  lpbench COMMAND --help      options of a command
  lpbench --help              every configuration group and key (Hydra)
"""


def main(argv: list[str] | None = None) -> int:
    """Entry point of the ``lpbench`` command; returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv:
        print(USAGE, end="")
        return 0
    try:
        from lpbench import commands

        if argv[0] in commands.COMMANDS:
            return commands.run(argv)
        return _hydra(argv)
    except LpbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: finished blocks are kept; run the same command again to go on", file=sys.stderr)
        return 130


def _hydra(argv: list[str]) -> int:
    from lpbench import hydra_app

    return hydra_app.main(argv)


if __name__ == "__main__":
    sys.exit(main())
