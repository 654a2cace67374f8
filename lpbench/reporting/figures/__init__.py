"""Figures of experiments and of whole papers."""
