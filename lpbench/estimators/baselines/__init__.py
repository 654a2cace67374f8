"""Baselines: trees, histograms, randomised features, linear models, feature-free predictors, non-private references."""
