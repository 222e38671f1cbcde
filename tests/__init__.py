"""Tests mirror `src`; a package, because another project installs one of the same name."""
