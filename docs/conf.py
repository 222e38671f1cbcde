"""How Sphinx builds the site; ``make docs`` runs it with warnings as errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from polyrule.utils.version import __version__

sys.path.insert(0, str(Path(__file__).resolve().parent / "_ext"))
# Cells call `polyrule` as a shell does: find the one of this environment. A page is 90 letters wide on a laptop.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
os.environ.update(NO_COLOR="1", COLUMNS="90", POLYRULE_DOCS=str(Path(__file__).resolve().parent))

project = "polyrule"
author = "The polyrule authors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "cli_reference",
    "comparison",
    "gallery_cards",
    "glossary_links",
    "live_reports",
    "method_table",
    "notebooks",
    "outside_links",
    "page_meta",
    "public_names",
    "run_blocks",
    "shell_cells",
]
exclude_patterns = ["_build", "results/*.md"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4

# Pages with code cells run while building; a cell that fails fails the build.
nb_execution_mode = "force"
nb_execution_timeout = 240
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "myst"

# The reference comes from the docstrings; types stand there in words, so the signatures keep to names and defaults.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# What every estimator of scikit-learn has is described there.
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_fit_request, set_score_request, get_metadata_routing, get_params, set_params",
}
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "py:obj"

html_theme = "furo"
html_title = f"polyrule {release}"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "https://polyrule.readthedocs.io/en/latest/")
html_static_path = ["_static"]
html_logo = html_favicon = "_static/logo.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "github-dark"
copybutton_exclude = ".linenos, .gp, .go"
GITHUB = "https://github.com/polyrule/polyrule/"
html_theme_options = {
    "source_repository": GITHUB,
    "source_branch": "main",
    "source_directory": "docs/",
    "footer_icons": [{"name": "GitHub", "url": GITHUB, "html": "GitHub", "class": ""}],
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#7cb8f0", "color-brand-content": "#7cb8f0"},
}
