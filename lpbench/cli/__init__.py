"""Command line: a module for each command, and the options that they share."""
