"""Every kind of model there is: importing a stage with models of its own makes them known to `polyrule.model`."""

from polyrule import ensemble  # noqa: F401
from polyrule.model.exports import export, export_onnx, onnx_inputs
from polyrule.model.files import load

__all__ = ["export", "export_onnx", "load", "onnx_inputs"]
