"""Experiments: learners × data sets × splits from one file, resumable, within limits; tables from the rows."""

from polyrule.evaluation.experiment.results import Results
from polyrule.evaluation.experiment.runner import Progress, run_experiment
from polyrule.evaluation.experiment.spec import ExperimentSpec, load_spec, parse_spec
from polyrule.evaluation.experiment.store import RowStore, StoreError
from polyrule.evaluation.experiment.writer import make_figures, make_tables, write_results

__all__ = [
    "ExperimentSpec",
    "Progress",
    "Results",
    "RowStore",
    "StoreError",
    "load_spec",
    "make_figures",
    "make_tables",
    "parse_spec",
    "run_experiment",
    "write_results",
]
