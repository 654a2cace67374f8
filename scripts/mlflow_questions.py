"""Answer five questions with MLflow's client alone, as docs/mlflow.md does with filters.

Usage: python scripts/mlflow_questions.py [URI]    (default: sqlite:///results/mlflow.db)
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Run


def runs(client: MlflowClient, query: str, *experiments: str, order: str = "metrics.distance") -> Iterator[Run]:
    """Yield the runs of some experiments, of all papers' unless named, that match a query."""
    named = [e for e in client.search_experiments() if not experiments or e.name in experiments]
    ids, token = [e.experiment_id for e in named if not e.name.startswith("quick/")], None
    while ids:
        page = client.search_runs(ids, query, order_by=[order], page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def missed(client: MlflowClient, artifact: str = "lpct/table2") -> list[dict]:
    """Return the printed numbers of an artifact that are missed, ours, and why."""
    query = f"tags.`lpbench.artifact` = '{artifact}' AND tags.`lpbench.verdict` = 'different'"
    keys = ("cause", "reason")
    return [
        {
            "run": run.info.run_name,
            **{key: run.data.metrics.get(key) for key in ("published", "reproduced")},
            **{key: run.data.tags.get(f"lpbench.{key}", "") for key in keys},
        }
        for run in runs(client, query)
    ]


def failing(client: MlflowClient) -> list[tuple[str, str, str]]:
    """Return the claims that fail here: name, outcome in print, sentence and rules."""
    found = runs(client, "tags.`lpbench.kind` = 'claim' AND tags.`lpbench.verdict` = 'fails'")
    keys = ("lpbench.claim", "lpbench.in_print", "mlflow.note.content")
    return [tuple(run.data.tags[key] for key in keys) for run in found]


def p_values(client: MlflowClient, method: str, than: str, epsilon: float, artifact: str) -> dict[str, float]:
    """Return the one-sided p-values that a method is better than another, by data set and mask of an artifact."""
    query = f"tags.`lpbench.artifact` = '{artifact}' AND tags.`lpbench.kind` = 'artifact'"
    (run,) = runs(client, query)
    file = re.sub(r"[^\w./ -]", " ", f"tests/{method}").strip()
    table = pd.read_json(client.download_artifacts(run.info.run_id, f"{file}.json"), orient="split")
    row = table.set_index(["selection", "epsilon", "than"]).loc["oracle", epsilon, than]
    return row.astype(float).dropna().to_dict()


def best_setting(client: MlflowClient, dataset: str = "abalone", method: str = "krr") -> tuple[str, float, dict]:
    """Return run, score and setting of the best run of a method on a data set."""
    query = f"params.dataset = '{dataset}' AND params.method = '{method}' AND metrics.mse > 0"
    run = next(runs(client, query, order="metrics.mse"))
    chosen = {k.partition(".")[2]: v for k, v in run.data.params.items() if k.startswith(("selected.", "method."))}
    return run.info.run_name, run.data.metrics["mse"], chosen


def of_version(client: MlflowClient, dataset: str = "abalone") -> dict[str, int]:
    """Count the runs of each version of a data set, by its fingerprint."""
    found = [d.dataset for run in runs(client, f"dataset.name = '{dataset}'") for d in run.inputs.dataset_inputs]
    digests = [one.digest for one in found if one.name == dataset]
    counts = {digest: digests.count(digest) for digest in dict.fromkeys(digests)}
    for digest, count in counts.items():
        query = f"dataset.name = '{dataset}' AND dataset.digest = '{digest}'"
        assert sum(1 for _ in runs(client, query)) == count
    return counts


def main() -> None:
    """Print the five answers."""
    client = MlflowClient(sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{Path('results/mlflow.db').resolve()}")
    found = missed(client)
    print(f"1. {len(found)} runs with a number of lpct/table2 that is missed, such as {found[:1]}")
    print(f"2. {len(failing(client))} claims fail: {[name for name, *_ in failing(client)]}")
    print("3. p that adhistoftree_max_edge is better than hist at epsilon = 1, histoftree/table2:")
    for place, p in p_values(client, "adhistoftree_max_edge", "hist", 1.0, "histoftree/table2").items():
        print(f"   {place}: {p:.2g}")
    print(f"4. the best setting of krr on abalone: {best_setting(client)}")
    print(f"5. runs of each version of abalone: {of_version(client)}")


if __name__ == "__main__":
    main()
