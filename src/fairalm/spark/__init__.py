"""Spark data frames: only counts and small tables reach the driver."""
