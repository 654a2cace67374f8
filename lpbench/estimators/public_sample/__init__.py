"""LPDT with masks, for regression and classification: trees of a public sample, filled by private reports."""
