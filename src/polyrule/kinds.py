"""Every kind of model: reading one from a file, and turning one into code."""

from polyrule.model.exports import export, export_onnx, onnx_inputs
from polyrule.model.files import load

__all__ = ["export", "export_onnx", "load", "onnx_inputs"]
