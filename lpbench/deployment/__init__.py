"""The methods as protocols: clients that serialise reports, curators that collect them from anywhere in any order."""
