import io

import pytest

from polyrule.data.labelspec import read_label_list
from polyrule.data.sources import Source
from polyrule.errors import DataError


def labels(xml: str | bytes):
    return read_label_list(Source(io.BytesIO(xml.encode() if isinstance(xml, str) else xml)))


def test_flat_nested_and_escaped():
    flat = '<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels"><label name="a &amp; b"/></labels>'
    assert labels(flat) == (["a & b"], {})
    nested = '<labels><label name="a"><label name="b"><label name="c"/></label></label><label name="d"/></labels>'
    assert labels(nested) == (["a", "b", "c", "d"], {"b": "a", "c": "b"})
    prefixed = '<m:labels xmlns:m="x"><m:label name="a"/></m:labels>'
    assert labels(prefixed) == (["a"], {})


BOMB = (
    '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>'
    '<labels><label name="&lol2;"/></labels>'
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><labels><label name="&e;"/></labels>'


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (BOMB, "entity declarations are refused"),
        (OUTSIDE, "entity declarations are refused"),
        ("<labels><label name='a'></labels>", "line 1, column .*: not well-formed XML"),
        ("<other/>", "expected a <labels> element, found <other>"),
        ("<labels><thing/></labels>", "expected <label> elements, found <thing>"),
        ("<labels><label/></labels>", "a <label> has no name"),
        ("<labels><label name='a'/><label name='a'/></labels>", "label 'a' is listed twice"),
        ("<labels/>", "names no label"),
        ("", "not well-formed"),
        ("<labels>" + "".join(f'<label name="{i}">' for i in range(300)), "nested more than 200 deep"),
        (b'<?xml version="1.0" encoding="klingon"?><labels/>', "not well-formed XML|unknown encoding"),
        (b"\x00\x01", "not well-formed"),
    ],
)
def test_hostile_and_broken_lists(xml, message):
    with pytest.raises(DataError, match=message):
        labels(xml)


def test_a_list_that_is_too_large(monkeypatch):
    monkeypatch.setattr("polyrule.data.labelspec.LARGEST_XML", 100)
    with pytest.raises(DataError, match="is not read"):
        labels("<labels>" + " " * 200 + "</labels>")
