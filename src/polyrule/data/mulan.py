"""MULAN's XML label lists, flat or nested; nothing in them is ever expanded or fetched."""

from __future__ import annotations

from xml.parsers import expat

from polyrule.data.columns import shorten
from polyrule.data.sources import Source
from polyrule.errors import DataError

LARGEST_XML = 1 << 26
DEEPEST_NESTING = 200


class _Refused(Exception):
    """Stops the parser at something that is not allowed."""


class _Labels:
    """Gathers label names and, where labels are nested, the parent of each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: dict[str, str] = {}
        self._open: list[str | None] = []
        self._known: set[str] = set()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= DEEPEST_NESTING:
            raise _Refused(f"labels are nested more than {DEEPEST_NESTING} deep")
        local = tag.rpartition(":")[2]
        if not self._open:
            if local != "labels":
                raise _Refused(f"expected a <labels> element, found <{shorten(tag)[1:-1]}>")
            self._open.append(None)
            return
        if local != "label":
            raise _Refused(f"expected <label> elements, found <{shorten(tag)[1:-1]}>")
        name = attributes.get("name")
        if not name:
            raise _Refused("a <label> has no name")
        if name in self._known:
            raise _Refused(f"label {shorten(name)} is listed twice")
        self.names.append(name)
        self._known.add(name)
        if self._open[-1] is not None:
            self.parents[name] = self._open[-1]
        self._open.append(name)

    def end(self, _: str) -> None:
        self._open.pop()


def read_label_list(source: Source) -> tuple[list[str], dict[str, str]]:
    """Read a label list.

    Returns
    -------
    names : list of str
        In document order.
    parents : dict
        For a nested label, the label that contains it.

    Examples
    --------
    >>> import io
    >>> xml = b'<labels><label name="birds"><label name="owl"/></label></labels>'
    >>> read_label_list(Source(io.BytesIO(xml)))
    (['birds', 'owl'], {'owl': 'birds'})
    """
    with source.open() as stream:
        text = stream.read(LARGEST_XML + 1)
    if len(text) > LARGEST_XML:
        raise DataError(f"{source.name}: a label list of more than {LARGEST_XML >> 20} MiB is not read")
    labels = _Labels()
    parser = expat.ParserCreate()
    parser.StartElementHandler = labels.start
    parser.EndElementHandler = labels.end
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(text, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages.get(problem.code, str(problem))
        raise DataError(
            f"{source.name}, line {problem.lineno}, column {problem.offset}: not well-formed XML ({reason})"
        ) from problem
    except (_Refused, ValueError, LookupError) as problem:
        raise DataError(f"{source.name}, line {parser.CurrentLineNumber}: {problem}") from problem
    if not labels.names:
        raise DataError(f"{source.name}: the label list names no label")
    return labels.names, labels.parents


def _refuse_entities(*_: object) -> None:
    raise _Refused("entity declarations are refused, because they can blow up or reach outside the file")
