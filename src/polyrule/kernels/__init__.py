"""The engine that grows one rule: NumPy reference and C++ behind one interface."""
