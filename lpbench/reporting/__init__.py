"""Tables, figures, comparison with the published numbers, verdicts on the papers' claims, and the report.

Nothing is imported here: drawing takes a second to load, and most commands draw nothing.
"""
