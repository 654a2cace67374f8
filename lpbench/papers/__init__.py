"""Papers: a package each, exposing ``PAPER``, with all that is known of it.

Published numbers and tables, claims, errata, deviations of the released code, drawings and figures. A paper imports
reporting; reporting finds papers through :func:`lpbench.reporting.paper.papers` alone.
"""
