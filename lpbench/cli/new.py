"""``lpbench new``: a method from templates, or a data set from a CSV."""

import re
from pathlib import Path
from typing import Any

import click

from lpbench.cli import options

#: A first run of a new method, on data that need no download; a first sweep of new data: the baseline, and a learner.
_FIRST_DATASET = {"regression": "diabetes_progression", "classification": "breast_cancer"}
_FIRST_METHODS = {"regression": "private_mean,hist", "classification": "private_majority,lpct_max_edge"}
_TASKS = tuple(_FIRST_DATASET)


@click.group(cls=options.Kinds)
def command() -> None:
    """Start a method or a data set of your own."""


@command.command()
@click.argument("name")
@options.choice("--task", _TASKS, _TASKS[0])
@options.own_folder()
def method(name: str, task: str, folder: Path) -> int:
    """Write a module, a YAML and a test of a method that runs as it is.

    NAME is lower case, e.g. my_mean.
    """
    from lpbench.cli.new_method import export_line, new_method, shown

    paths = new_method(name, folder, task)
    for path in paths:
        print(f"wrote {shown(path)}")
    print(f"""It runs as it is. Next:
{export_line(folder)}  lpbench check method {name}
  lpbench dataset={_FIRST_DATASET[task]} method={name} epsilon=2 replications=5
  python -m pytest {shown(paths[-1])}
Then make it yours: what leaves a device in its class (`mechanism` and `inputs`), what is
computed from the reports in `learn`, the grid in the YAML.""")
    return 0


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", metavar="COLUMN", help="What to predict.  [default: the last column]")
@click.option(
    "--task", type=click.Choice(_TASKS), metavar="NAME", help=f"{', '.join(_TASKS)}  [default: by its values]"
)
@click.option("--positive", metavar="VALUE", help="This class against all others.")
@click.option("--log", is_flag=True, help="Predict the logarithm of the target.")
@click.option("--clip", type=float, nargs=2, metavar="LOW HIGH", help="Clip the target to this range.")
@click.option("--rows", type=click.IntRange(10), metavar="N", help="Keep at most as many rows, drawn once.")
@options.choice("--missing", ("drop", "fill"), "drop")
@click.option(
    "--missing-words", metavar="WORDS", help="These words alone mean missing, as in NA,?  [default: the usual]"
)
@click.option(
    "--unit", metavar="COLUMN", help="Names persons with several rows, or none.  [default: an id that repeats]"
)
@click.option("--public", type=click.FloatRange(0, 0.5), metavar="SHARE", help="Share of the rows that are public.")
@click.option("--name", metavar="NAME", help="[default: the file's name]")
@options.own_folder()
def dataset(file: Path, name: str | None, folder: Path, **choices: Any) -> int:
    """Profile the columns of a file and write its manifest.

    FILE is a CSV, plain or compressed, with or without header, an ARFF, openml:ID, or openml:task:ID, which has splits,
    too. Prints each decision.
    """
    from lpbench.cli.new_dataset import new_dataset, new_openml
    from lpbench.cli.new_method import export_line, shown

    if match := re.fullmatch(r"openml[:/_](task[:/])?(\d+)", str(file)):
        path, profile = new_openml(int(match[2]), bool(match[1]), name=name, **choices)
    else:
        path, profile = new_dataset(file, folder, name=name, **choices)
    name = path.stem.replace("openml_", "openml/")
    print(f"wrote {shown(path)}")
    for decision in profile.lines():
        print(f"  {decision}")
    methods = _FIRST_METHODS[profile.content["task"]]
    print(f"""Wrong? Edit the manifest, or remove it and use other options (--help). Next:
{"" if match else export_line(folder)}  lpbench check dataset {name}
  lpbench -m dataset={name} method={methods} epsilon=1,4 replications=5""")
    return 0
