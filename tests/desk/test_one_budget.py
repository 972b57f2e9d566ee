"""One table has one budget: a second name for its file gives no second one, at whatever later start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone.desk.accounts import check_office
from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from duotone.errors import DuotoneError, OfficeError
from support.offices import PEOPLE, VOTES, at_desk, make_office

ONLY_VOTES = PEOPLE.replace(', "stays", "calls"', "")
ALL = {"question": "count(*) > 1", "epsilon": "2", "delta": "1e-4"}
Moved = Callable[[Path, Path], object]


def renamed(office: Office, source: str, dataset: str = "polls") -> Office:
    """The office that knows the table by another file and name, and nothing of the first."""
    text = office.text.replace("votes.parquet", source).replace("all.duckdb", source)
    text = text.replace("[datasets.votes]", f"[datasets.{dataset}]").replace('["votes"]', f'["{dataset}"]')
    office.file.write_text(text.replace("allowances = { votes", f"allowances = {{ {dataset}"), encoding="utf-8")
    return read_office(office.file)


def append_a_row(file: Path) -> None:
    table = pq.read_table(file)
    more = pa.concat_tables([table, table.slice(0, 1)])
    pq.write_table(more, file)  # in place: the file of the disk stays the same


def linked_and_changed(old: Path, new: Path) -> None:
    os.link(old, new)
    append_a_row(new)


@pytest.mark.parametrize("way", [os.link, os.rename, shutil.copy, os.symlink, linked_and_changed])
def test_another_name_gives_no_fresh_budget_after_a_restart(tmp_path: Path, way: Moved) -> None:
    office = make_office(tmp_path, VOTES, people=ONLY_VOTES)
    with at_desk(office) as desk:
        assert desk.ask("ana", "votes", **ALL)[0] == 200  # all there is
    way(tmp_path / "votes.parquet", tmp_path / "other.parquet")
    again = renamed(office, "other.parquet")
    for start in (lambda: at_desk(again).__enter__(), lambda: check_office(again)):
        with pytest.raises((DuotoneError, OfficeError), match="was asked about as votes before: one table has one budget"):
            start()


@pytest.mark.parametrize("way", [os.link, os.rename, shutil.copy])
def test_a_table_of_a_database_keeps_its_budget(tmp_path: Path, way: Moved) -> None:
    votes = VOTES.replace("votes.parquet", "all.duckdb") + 'table = "votes"\n'
    office = make_office(tmp_path, VOTES, people=ONLY_VOTES)
    duckdb.connect(str(tmp_path / "all.duckdb")).execute(
        f"create table votes as from '{tmp_path}/votes.parquet'; create table others as from '{tmp_path}/votes.parquet'"
    ).close()
    office = make_office(tmp_path, votes, people=ONLY_VOTES)
    with at_desk(office) as desk:
        assert desk.ask("ana", "votes", **ALL)[0] == 200
    way(tmp_path / "all.duckdb", tmp_path / "other.duckdb")
    with pytest.raises(DuotoneError, match="one table has one budget"):
        at_desk(renamed(office, "other.duckdb")).__enter__()
    more = read_office(office.file).text.replace('table = "votes"', 'table = "others"')  # another table of that file
    office.file.write_text(more, encoding="utf-8")
    with at_desk(read_office(office.file)) as desk:
        assert desk.ask("ana", "polls", **ALL)[0] == 200


def test_a_file_that_is_moved_keeps_its_budget_under_its_name(tmp_path: Path) -> None:
    office = make_office(tmp_path, VOTES, people=ONLY_VOTES)
    with at_desk(office) as desk:
        assert desk.ask("ana", "votes", **ALL)[0] == 200
    os.rename(tmp_path / "votes.parquet", tmp_path / "other.parquet")
    again = renamed(office, "other.parquet", "votes")
    assert check_office(again) == []
    with at_desk(again) as desk:
        assert desk.ask("ana", "votes", **{**ALL, "question": "avg(age) > 2"})[0] == 409


def test_data_that_was_relabelled_is_remembered_too(tmp_path: Path) -> None:
    office = make_office(tmp_path, VOTES, people=ONLY_VOTES)
    with at_desk(office) as desk:
        append_a_row(tmp_path / "votes.parquet")
        assert desk.now(desk.desk.relabel(desk.caller("olga"), "votes", "2"))[0] == 200
    os.rename(tmp_path / "votes.parquet", tmp_path / "other.parquet")
    with pytest.raises(DuotoneError, match="one table has one budget"):
        at_desk(renamed(office, "other.parquet")).__enter__()


def test_a_file_among_others_is_the_same_table(tmp_path: Path) -> None:
    """A copy in a folder beside another file, and one file of a folder; but not a file without rows: many are alike."""
    office = make_office(tmp_path, VOTES, people=ONLY_VOTES)
    with at_desk(office) as desk:
        assert desk.ask("ana", "votes", **ALL)[0] == 200
    table, folder = pq.read_table(tmp_path / "votes.parquet"), tmp_path / "copies"
    folder.mkdir()
    shutil.copy(tmp_path / "votes.parquet", folder / "1.parquet")
    pq.write_table(table.slice(0, 0), folder / "2.parquet")
    with pytest.raises(DuotoneError, match="was asked about as votes before: one table has one budget"):
        at_desk(renamed(office, "copies")).__enter__()
    pq.write_table(table.slice(0, 500), folder / "1.parquet")
    with at_desk(renamed(office, "copies")) as desk:
        assert desk.ask("ana", "polls", **ALL)[0] == 200
    shutil.copy(folder / "1.parquet", tmp_path / "half.parquet")
    with pytest.raises(DuotoneError, match="was asked about as polls before: one table has one budget"):
        at_desk(renamed(office, "half.parquet", "thirds")).__enter__()
    others = tmp_path / "others"
    others.mkdir()
    pq.write_table(table.slice(500), others / "1.parquet")
    shutil.copy(folder / "2.parquet", others / "2.parquet")
    with at_desk(renamed(office, "others", "thirds")) as desk:
        assert desk.ask("ana", "thirds", **ALL)[0] == 200


def test_large_files_are_known_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from duotone.desk import same_table

    monkeypatch.setattr(same_table, "BLOCK", 16)
    one, two, three = (tmp_path / name for name in ("a", "b", "c"))
    one.write_bytes(os.urandom(20_000))
    shutil.copy(one, two)
    three.write_bytes(one.read_bytes()[:-1] + bytes([one.read_bytes()[-1] ^ 1]))
    assert same_table._content(one) == same_table._content(two) != same_table._content(three)
