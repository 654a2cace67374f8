"""Tests of reports; deciders are loaded as `decide` loads them."""

from lpbench.reporting.claims import load_deciders

load_deciders()
