"""Estimators of the three papers as scikit-learn estimators."""
