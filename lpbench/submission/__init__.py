"""Submissions: packing a method of one's own, and verifying somebody else's by running a random part of it again."""
