"""What the inputs are made from: a small file, model, text or command of every kind, and the words of their formats."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from functools import cache

import numpy as np

import polyrule
from polyrule.data import Dataset, Feature, Table

ARFF = rb"""@relation 'songs: -C 2'
% a comment
@attribute calm {0,1}
@attribute 'don\'t' {1,0}
@attribute size numeric
@attribute hue {'dark red',"a,b",c}
@data
0,1,2.5,'dark red'
1,0,?,c % half
{0 1, 2 3e2, 3 "a,b"}, {0.5}
{}
"""
CSV = b'id,size,hue,L\n1,2.5,"a ""b"", c",1\n2,?,"two\nlines",0\n3,-1e3,x,1\n'
JSONL = b'{"a": 1, "b": "x", "t": ["u", "v"], "L": 1}\n{"a": null, "b": true, "L": 0}\n'
LIBSVM = b"1,3 1:0.5 4:2 # note\n3 2:1\n 1:7e-3\n2\n"
XC = b"2 5 3\n0,2 0:0.5 4:2\n1 2:1\n"
XML = b'<?xml version="1.0"?><labels><label name="a"><label name="b &amp; c"/></label></labels>'

_MAIN = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = b'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
SHEET = (
    b'<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>hue</t></is></c>'
    b'<c r="C1" t="str"><v>L</v></c></row><row r="2"><c r="A2" s="1"><v>44260</v></c><c r="B2" t="s"><v>1</v></c>'
    b'<c r="C2"><v>1</v></c></row><row r="4"><c r="A4" t="e"><v>#N/A</v></c><c r="C4" t="b"><v>0</v></c></row>'
    b"</sheetData></worksheet>"
)
_BOOK = {
    "_rels/.rels": b'<Relationships %b><Relationship Id="r" Type="%b/officeDocument" Target="xl/workbook.xml"/>'
    b"</Relationships>" % (_PACKAGE, _OFFICE),
    "xl/workbook.xml": b'<workbook %b xmlns:r="%b"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    % (_MAIN, _OFFICE),
    "xl/_rels/workbook.xml.rels": (
        b'<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>'
        b'<Relationship Id="r2" Type="x/sharedStrings" Target="/xl/sharedStrings.xml"/>'
        b'<Relationship Id="r3" Type="x/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/sharedStrings.xml": (
        b'<sst><si><t>on</t></si><si><r><t>dark</t></r><r><t xml:space="preserve"> red</t></r></si></sst>'
    ),
    "xl/styles.xml": b'<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
}


def workbook(sheet: bytes = SHEET, packing: int = zipfile.ZIP_DEFLATED, **others: bytes) -> bytes:
    """A workbook with this sheet; other parts by name, such as `styles`, and what it relates to as `relations`."""
    parts = dict(_BOOK)
    if "relations" in others:
        parts["xl/_rels/workbook.xml.rels"] = others.pop("relations")
    parts |= {f"xl/{name}.xml": content for name, content in others.items()}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, content in (parts | {"xl/worksheets/sheet1.xml": sheet}).items():
            archive.writestr(name, content)
    return stream.getvalue()


@cache
def parquet_seeds() -> tuple[bytes, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    made = []
    columns = {"a": [1.5, None, 2.0], "b": ["x", "y", None], "t": [["u"], [], None], "d": [True, False, None]}
    plain = {"use_dictionary": False, "compression": "none"}
    for options in ({}, {"compression": "zstd"}, plain, {**plain, "column_encoding": {"b": "DELTA_BYTE_ARRAY"}}):
        stream = io.BytesIO()
        parquet.write_table(pa.table({**columns, "L": [1, 0, 1]}), stream, **options)
        made.append(stream.getvalue())
    return tuple(made)


def packed() -> list[bytes]:
    return [pack(raw) for pack in (gzip.compress, bz2.compress, lzma.compress) for raw in (CSV, ARFF)]


@cache
def models() -> tuple[bytes, ...]:
    from polyrule.model.files import (
        dumps,
        load,  # noqa: F401 (registers every kind of model)
    )

    data = small_data()
    rules = polyrule.RuleListClassifier(max_rules=4).fit(data).model_
    relevance = polyrule.BinaryRelevanceRuleClassifier().fit(data).model_
    grouped = rules.insert(0, 'a, ¬b <- c, any of "big or red" (size > 0.5, hue = red, size is missing)')
    return dumps(rules).encode(), dumps(relevance).encode(), dumps(grouped).encode(), ENSEMBLE


def small_data() -> Dataset:
    rng = np.random.default_rng(0)
    hue = Feature("hue", "nominal", ("red", "blue"))
    values = np.column_stack([rng.normal(size=30), rng.integers(0, 2, 30)])
    truth = np.column_stack([values[:, 0] > 0, values[:, 1] > 0, rng.random(30) < 0.3]).astype(np.uint8)
    return Dataset(Table.from_array(values, [Feature("size"), hue]), truth, ("a", "b", "c"), "small")


ENSEMBLE = json.dumps(
    {
        "format": "polyrule-model",
        "version": 2,
        "kind": "rule-ensemble",
        "info": {"learner": "RuleEnsembleClassifier"},
        "labels": ["a", "b"],
        "features": [{"name": "size", "kind": "numeric"}],
        "unit": 1.0,
        "intercepts": [0.5, -1.0],
        "decision": {"kind": "threshold", "cuts": [0.0, 0.0], "label_sets": []},
        "rules": [
            {
                "head": [{"label": "a", "weight": 2.0}],
                "body": [{"feature": "size", "op": ">", "value": 0.5}],
                "coverage": 3,
            },
            {
                "head": [{"label": "b", "weight": -1.0}],
                "body": [
                    {
                        "least": 2,
                        "members": [
                            {"feature": "size", "op": ">", "value": 0.5},
                            {"feature": "size", "op": "<=", "value": 2.0},
                            {"feature": "size", "op": "is", "value": "missing"},
                        ],
                        "name": "odd sizes",
                    }
                ],
            },
        ],
    }
).encode()


SPEC = """
name = "tiny"
[[data]]
name = "made"
make = "sklearn.datasets.make_multilabel_classification"
[[learner]]
name = "majority"
class = "polyrule.evaluation.MajorityClassifier"
"""
ROW = {
    "status": "ok",
    "fit_seconds": 0.5,
    "rules": 3,
    "micro_f1": 0.5,
    "counts": {"examples": 2, "tp": [1, 0], "fp": [0, 1], "fn": [1, 0], "example_groups": [[1, 1, 1, 1], [0, 1, 0, 1]]},
    "versions": {"python": "3.11"},
}


EXPRESSIONS = (
    "tp/(tp+fp+0.5*fn)",
    "sqrt(tp*tn)-log(1+fp)",
    "max(tp,fn)^2/(1+abs(fp-tn))",
    "-tp**-2+.5e3*min(1,fp,tn)",
)
RULES = (
    "red, ¬green <- size > 5.5, hue = red   (TP 65, FP 0) [stop]",
    '1. not red <- hue = "dark, blue", green',
    'green <- "x \\"y\\" <= 3" <= -1e-3',
    '"¬odd", ¬"not really" <- true',
    "green <- day >= 2021-03-05, plan < pro   (not counted)   [hand, stop]",
    "red <- hue in {red, true}, size is   missing, 3 < size <= 60",
    'red <- any of "odd (or not)" (hue in {red, true}, size is missing, day >= 2021-03-05), size > 3',
    "green <- at least 2 of {size, weight, ¬height}",
)
RULE_WORDS = (
    *("<-", "¬", '"', ", ", "[stop]", "(TP 1, FP ", " is missing", " in {", " " * 3000, '\\"' * 1000, "2021-02-29"),
    *("any of ", "at least 2 of ", "(", ")", "{", "}", '"name" ', "any of (" * 500),
)
FRAMES = tuple(
    json.dumps(
        {
            "columns": [
                {"library": library, "name": "on", "make": "date", "type": "", "unit": "", "zone": None}
                | {"values": ["2021-03-05", None, "9999-12-31"]},
                {"name": "at", "make": "time", "type": "", "unit": "us", "zone": None}
                | {"values": ["2021-03-05T10:00:00", "1970-01-01T00:00:00", None]},
                {"name": "raw", "make": "as is", "type": "", "unit": "s", "zone": "UTC", "values": [1, 2**40, None]},
                {"name": "hue", "make": "as is", "type": "category", "unit": "", "zone": None}
                | {"values": ["red", "2021-03-05", None]},
                {
                    "name": "size",
                    "make": "decimal",
                    "type": "",
                    "unit": "",
                    "zone": None,
                    "values": ["1.5", "-2", None],
                },
                {"name": "odd", "make": "as is", "type": "object", "unit": "", "zone": None, "values": [1, 0.5, 3]},
            ],
            "new": {"on": ["2021-03-05", "5.3.2021"], "at": [None, None], "hue": ["blue", "red"], "size": [1, 2]},
        }
    ).encode()
    for library in ("pandas", "polars", "pyarrow")
)
COMMANDS = (
    "show model.json --format csv --safe-csv",
    "predict model.json songs.csv --to jsonl",
    "train songs.csv --labels a,b,c --max-rules 2 --measure f1",
    "explain model.json songs.csv --row 2 --flip a",
    "evaluate model.json songs.csv --labels a,b,c",
    "verify model.json songs.csv --labels a,b,c",
    "export model.json --to sql",
    "data songs.arff --labels last:1",
    "measure check tp/(tp+fp)",
    "edit remove model.json 1 -o out.json",
    "edit name model.json 1 words -o out.json",
    "edit member model.json 1 --join 2 -o out.json",
    "edit member model.json 1 --remove hue -o out.json",
)
ARFF_WORDS = (
    b"@attribute x numeric\n",
    b"@data\n",
    b"{0 1}",
    b"'a\\'b'",
    b"?",
    b", {0.5}",
    b"date",
    b"string",
    b"% c",
)
COMMAND_WORDS = b"""
show predict train explain evaluate verify export data measure check edit head
--json --labels --format --to --digits --row --max-rules --measure --id --tags
--weights --drop --nominal --encoding --delimiter --decimal --missing --header -o --
model.json broken.json songs.csv songs.arff none.csv csv sql python last:1 a hex
--help --debug --config --dump-config --scores --rows --lift --scope all kln:0.1
""".split()
