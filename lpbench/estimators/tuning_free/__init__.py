"""Tuning-free methods: regression and classification that choose every setting from public facts or their reports."""
