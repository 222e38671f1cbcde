"""The workers of a dask cluster: who asks them, and how collections are packed where they lie."""
