"""Prediction intervals, and sets of classes, that hold under local privacy: split conformal from randomized bits."""
