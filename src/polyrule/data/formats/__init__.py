"""One file per format: each turns text or typed columns into blocks of cells."""
