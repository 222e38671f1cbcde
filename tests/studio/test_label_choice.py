"""Labels of a table: which columns can be labels, with counts, what is proposed, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studio.person import in_section
from tests.studio.person import visit as visit

from polyrule.errors import OptionError
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin

MOODS = ("calm, slow", "loud", "calm", "fast, loud", "slow, fast, loud", "fast")
COMPLAINTS = ("c/o cough, productive at night", "presents with chest pain", "c/o cough", "fall at home, lives alone")


def taken(tmp_path: Path, header: str, rows: list[str], name: str = "table.csv") -> tuple[Session, dict]:
    (tmp_path / name).write_text("\n".join([header, *rows]), encoding="utf-8")
    session = Session()
    return session, session.take(Origin.of_file(tmp_path / name))


def patients(rows: int = 60) -> list[str]:
    return [f'{n % 50},"{COMPLAINTS[n % 4]}",{n // 2 % 2},{"" if n % 10 == 0 else n % 3 // 2}' for n in range(rows)]


def test_columns_of_0_and_1_at_the_end_win_over_texts_with_commas(tmp_path):
    _, found = taken(tmp_path, "age,complaint,sepsis,aki", patients())
    assert found["choices"]["parts"] == {"sepsis": "label", "aki": "label"}
    assert found["choices"]["columns"] == [
        {"name": "sepsis", "shown": "sepsis", "present": 30, "absent": 30, "unknown": 0},
        {"name": "aki", "shown": "aki", "present": 18, "absent": 36, "unknown": 6},
    ]
    (complaint,) = found["choices"]["values"]
    assert (complaint["name"], complaint["labels"]) == ("complaint", 5)


def test_of_columns_with_tags_the_one_with_most_tags_is_proposed_and_names_of_people_never(tmp_path):
    people = [f"Ann Lee Nr{n % 9}, Bo Kim Nr{n % 7}, Cy Orr Nr{n % 11}, Dee Poe Nr{n % 13}" for n in range(66)]
    lands = ("France", "Chad, France", "Chad", "Togo")
    rows = [f'"{people[n]}","{lands[n % 4]}","{MOODS[n * 5 % 6]}",{n % 5}' for n in range(66)]
    _, found = taken(tmp_path, "cast,land,moods,size", rows)
    assert {name for name, part in found["choices"]["parts"].items() if part == "tags"} == {"moods"}
    assert [one["name"] for one in found["choices"]["values"]] == ["cast", "land", "moods"]  # all of them are offered


def test_more_than_forty_labels_and_those_of_a_wide_table_are_proposed(tmp_path):
    header = ",".join([*(f"x{n}" for n in range(230)), *(f"y{n}" for n in range(45))])
    _, found = taken(
        tmp_path, header, [",".join([*([str(n / 7)] * 230), *(str((n + k) % 2) for k in range(45))]) for n in range(12)]
    )
    assert [name for name, part in found["choices"]["parts"].items() if part == "label"] == [f"y{n}" for n in range(45)]


def test_columns_and_values_of_a_column_are_not_labels_at_once(tmp_path):
    session, _ = taken(tmp_path, "age,complaint,sepsis,aki", patients())
    with pytest.raises(
        OptionError, match=r"from columns \(sepsis, aki\) or from the values of one column \(complaint\)"
    ):
        session.prepare({"labels": ["sepsis", "aki"], "tags": "complaint"})
    with pytest.raises(OptionError, match="sepsis is chosen as a label and as something else"):
        session.prepare({"labels": ["sepsis"], "drop": ["sepsis"]})
    assert session.bench is None


def test_names_of_people_are_too_many_labels(tmp_path):
    rows = [f'{n % 7},"person {n}, person {n * 7 % 1200}"' for n in range(1200)]
    session, _ = taken(tmp_path, "age,cast", rows)
    with pytest.raises(OptionError, match="1,200 labels in cast, more than the 1,000"):
        session.prepare({"tags": "cast"})


def test_the_choice_made_last_wins_and_is_said_with_counts(visit, empty):
    page = visit(empty)
    table = "\n".join(["age,complaint,sepsis,aki", *patients()])
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "ward.csv", "mimeType": "", "buffer": table.encode()}
    )
    section = in_section(page, "data")
    section.get_by_text("2 labels chosen: sepsis (30), aki (18) of 60 examples.").wait_for()
    section.get_by_label("Use complaint as").select_option("tags")
    section.get_by_text("5 labels: the parts of complaint, separated by “,”").wait_for()
    assert section.get_by_label("Use sepsis as").input_value() == "feature"
    section.get_by_label("Columns that say yes or no").check()
    section.get_by_role("checkbox", name="sepsis").check()
    section.get_by_text("1 label chosen: sepsis (30)").wait_for()
    assert section.get_by_label("Use complaint as").input_value() == "feature"
    section.get_by_label("The values of one column").check()
    section.get_by_label("Each value, or each part of a text").select_option("complaint")
    section.get_by_role("button", name="Set a part aside and go on").click()
    in_section(page, "learn").get_by_text("others are held out").wait_for()
    assert empty.session.intake.setup.reading["tags"] == "complaint"
    assert "sepsis" in [feature.name for feature in empty.session.bench.train.features]
