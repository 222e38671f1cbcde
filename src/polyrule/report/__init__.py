"""The HTML report and the plots."""

from polyrule.report.report import Report, build

__all__ = ["Report", "build"]
