"""Print the oldest versions of the dependencies that pyproject.toml allows, as a constraints file for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
lists = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
frames = [line for line in project["dependency-groups"]["test"] if line.startswith("polars")]  # read, never required
for requirement in sorted({line for lines in [*lists, frames] for line in lines}):
    if match := re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement):
        print(f"{match[1]}=={match[2]}")
print("pyparsing<3.3")  # later ones warn of the names by which the oldest Matplotlib calls them
