"""Scikit-learn estimators trained on labels privatised by published mechanisms."""
