"""Audits of models are given CPU time: on a busy machine they find as much."""

import time

import pytest

from lpbench.audit.learner import worst_tables


@pytest.fixture(autouse=True)
def _seconds_of_this_process(monkeypatch):
    monkeypatch.setattr(worst_tables, "clock", time.process_time)
