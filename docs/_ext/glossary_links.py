"""Links the first use of a technical word on every page to the glossary, so that no author has to think of it.

Titles, code, outputs of cells, existing links and the reference are left alone. A word that is also plain English is
only linked where it can be nothing else (``a stop``, not ``stop it``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

# Term of the glossary -> what it looks like in running text. Longer phrases come first: they win over their parts.
PATTERNS = {
    "separate-and-conquer": r"separate[- ]and[- ]conquer",
    "label condition": r"label conditions?",
    "binary relevance": r"binary relevance",
    "rule list": r"rule lists?",
    "smallest change": r"smallest changes?",
    "near miss": r"near miss(?:es)?",
    "subset accuracy": r"subset accuracy",
    "Hamming loss": r"Hamming (?:loss|accuracy)",
    "micro-F1": r"[Mm]icro[- ]F1",
    "macro-F1": r"[Mm]acro[- ]F1",
    "anti-monotone": r"anti-monoton(?:e|icity)",
    "decomposable": r"decomposable",
    "working set": r"working set",
    "beam search": r"beam search",
    "head": r"heads?",
    "body": r"body(?! mass)|bodies",
    "literal": r"literals?",
    "stop": r"(?<=\ba )stop|(?<=\bthe )stop|(?<=\bno )stops?",
    "scope": r"scopes?",
    "lift": r"lift",
    "averaging": r"averagings?",
    "coverage": r"coverage",
    "nominal": r"nominal",
    "scorecard": r"scorecards?",
    "teacher": r"teacher",
    "certificate": r"certificates?",
}
_ANY = re.compile(
    r"\b(?:" + "|".join(f"(?P<t{number}>{pattern})" for number, pattern in enumerate(PATTERNS.values())) + r")\b"
)
_TERMS = list(PATTERNS)
_LEAVE = (
    nodes.title,
    nodes.literal,
    nodes.literal_block,
    nodes.reference,
    nodes.term,
    nodes.caption,
    nodes.raw,
    nodes.math,
    addnodes.pending_xref,
    addnodes.desc_signature,
    addnodes.toctree,
    addnodes.download_reference,
)
_NO_PAGES = ("explain/glossary", "reference/", "changelog", "contributing")


class LinkFirstUse(SphinxTransform):
    """Runs once per page, after parsing."""

    default_priority = 720

    def apply(self, **_: object) -> None:
        """Replace the first occurrence of every term by a reference."""
        if self.env.docname.startswith(_NO_PAGES):
            return
        seen: set[str] = set()
        for text in list(self.document.findall(nodes.Text)):
            if not _is_prose(text):
                continue
            pieces = list(_pieces(text.astext(), seen, self.env.docname))
            if any(not isinstance(piece, nodes.Text) for piece in pieces):
                text.parent.replace(text, pieces)


def _is_prose(text: nodes.Text) -> bool:
    node = text.parent
    within_paragraph = False
    while node is not None:
        if isinstance(node, _LEAVE) or (isinstance(node, nodes.container) and "cell" in " ".join(node["classes"])):
            return False
        within_paragraph = within_paragraph or isinstance(node, nodes.paragraph)
        node = node.parent
    return within_paragraph


def _pieces(text: str, seen: set[str], docname: str) -> Iterator[nodes.Node]:
    end = 0
    for match in _ANY.finditer(text):
        term = _TERMS[int(match.lastgroup[1:])]  # type: ignore[index]
        if term in seen:
            continue
        seen.add(term)
        yield nodes.Text(text[end : match.start()])
        yield _reference(term, match.group(), docname)
        end = match.end()
    yield nodes.Text(text[end:])


def _reference(term: str, words: str, docname: str) -> addnodes.pending_xref:
    inner = nodes.inline(words, words, classes=["xref", "std", "std-term"])
    return addnodes.pending_xref(
        "", inner, refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True, refdoc=docname
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(LinkFirstUse)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
