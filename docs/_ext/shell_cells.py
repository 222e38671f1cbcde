"""Shows cells that call the shell (``!polyrule …``) as a terminal does; the copy button leaves the prompt out."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


def as_console(code: str) -> str | None:
    """Return the commands of a cell behind prompts, or None if there is Python in it."""
    lines = code.strip().splitlines()
    if not lines or not all(line.startswith("!") for line in lines):
        return None
    return "\n".join(f"$ {line[1:]}" for line in lines)


class ShellCells(SphinxTransform):
    """Runs once per page, after its cells have been run."""

    default_priority = 710

    def apply(self, **_: object) -> None:
        """Replace the input of cells that are commands."""
        for cell in self.document.findall(nodes.container):
            if "cell_input" not in cell["classes"]:
                continue
            for block in list(cell.findall(nodes.literal_block)):
                shown = as_console(block.astext())
                if shown is not None:
                    block.replace_self(nodes.literal_block(shown, shown, language="console"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(ShellCells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
