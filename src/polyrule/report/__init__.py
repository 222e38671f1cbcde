"""The HTML report and the plots."""
