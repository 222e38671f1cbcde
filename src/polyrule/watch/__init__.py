"""Monitoring of a deployed model: rules, features and labels of new data against reference data."""

from polyrule.watch.monitor import Monitor, watch
from polyrule.watch.summary import WatchSummary

__all__ = ["Monitor", "WatchSummary", "watch"]
