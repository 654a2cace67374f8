"""Scikit-learn estimators trained on labels privatized by published mechanisms."""
