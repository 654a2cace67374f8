"""Sources of modules, read again as another process would."""

from lpbench import source


def read_sources_again() -> None:
    """Forget what this process has read of modules, which a test has changed."""
    for cached in (source.source_hash, source.modules, source._module, source._parsed, source._of_the_package):
        cached.cache_clear()
