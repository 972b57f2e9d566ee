"""Why something is refused: a sentence for each code of a refusal; pairs have a second sentence for analysts.

A template names the fields of the refusal, `{o.max_rows}` an option as the reader writes it, and `{p.max_rows}` the
same in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping

_INNER = "the inner select makes one row per person: it is grouped by the unit, and by nothing else"

REFUSALS: Mapping[str, str | tuple[str, str]] = {
    # several questions, or a part of one
    "in a question": "{question}: {why}",
    # opening a table
    "several tables": "{place} may hold many tables: say which{p.table}",
    "several tables of a cluster": "a Spark cluster may hold many tables: say which{p.table}, by name or by the path of Parquet"
    " files",
    "columns missing": "the columns of {path} depend on its rows: name them{p.json_columns}",
    "several separators": "the first line of {path} has {separators}: say which one separates the columns{p.separator}, or put"
    " the names that have the other in double quotes",
    "not vouched": "{what} is not a stored table, and may mix people up or fail on a row: create a table from it, or vouch for"
    " it{p.vouched}: that each row belongs to one person, and that no row depends on other people's rows",
    "unit missing between tables": "several private tables are joined by people: name the column that tells persons"
    " apart{p.unit}",
    # reading a question
    "join with no public table": "{join}: {joins}; declare one{p.public}, if all may know its rows",
    "unit missing in an inner select": _INNER + "; say which column that is{p.unit}",
    "time of a date": "{text}: {column} is text, read as a date without its time: declare its date format"
    "{p.clock_formats:{column}}",
    "constant in the order of text": "{text}: {column} is text, whose order is not that of dates: write the constant as date"
    " '2025-12-31', and declare how the column writes dates if it writes them in another way{p.formats}; or write"
    " {column}::text for the order of text",
    "no private table of that name": "the inner select that is joined is about {table}: it must be about one of the further"
    " private tables, and none is declared{p.also}",
    "other private tables": "the inner select that is joined is about {table}: it must be about one of the further private"
    " tables, which are {tables}",
    "options of definite answers": "a question that may be too close to call has no epsilon, delta, costs and {o.max_groups} of"
    " its own",
    # what is declared
    "bounds missing": "a {what} of {column} needs bounds: give the lowest and the highest value that counts{p.bounds:{column}}",
    "bounds missing of a computed value": "a {what} of {column} needs bounds: give the lowest and the highest value that counts"
    "{p.bounds:{column}}; bounds of its columns are not enough",
    "max_rows missing": "with a unit, say how many rows of one {unit} may count{p.max_rows}",
    "max_rows or per_unit missing": "with a unit, say how many rows of one {unit} may count{p.max_rows}, or how its rows"
    " become one value{p.per_unit}",
    "max_rows too large": "the sum of that many rows of one person, within these bounds, is too large: lower {o.max_rows}",
    "per_unit missing": "with a unit, {what} needs one value per person: {o.per_unit} avg, sum, min or max ({o.max_rows} does"
    " not say which row that would be)",
    "per_unit missing of a mode": "with a unit, a mode needs one value per person: {o.per_unit} min or max",
    "per_unit missing of different values": "with a unit, count(distinct …) needs one value per person: {o.per_unit}"
    " min or max",
    "per_unit of a share": "with a unit, a share counts people by any of their rows ({o.per_unit} max) or by all"
    " ({o.per_unit} min)",
    "per_unit of no numbers": "column {column} does not hold numbers: use {o.per_unit} min or max",
    "per_unit unused": "{o.per_unit} is for averages, medians, quantiles, min, max, mode and differences: leave it out",
    "per_unit unused in a sum": "{o.per_unit} is for averages, medians, quantiles, min, max, mode and differences; sums, counts"
    " and shares add up a person's rows: leave it out, and say by {o.max_rows} how many count",
    "max_rows and per_unit unused": "the inner select makes one row of each person: leave out {o.max_rows} and {o.per_unit}",
    "max_groups missing": "with a unit, say in how many groups one {unit} may count{p.max_groups}: the budget is divided"
    " by it; with 1, a {unit} with rows in several groups counts in only one of them",
    "max_groups unused": "an inner select has one row of each person, in one group: leave {o.max_groups} out",
    "groups missing": "with group by, each group is a question of its own: give the public list of groups{p.groups}, or first"
    " ask which groups may be shown, at a price of its own",
    # the work of a question
    "too much memory": "this question could need {need:,.0f} MiB for {what}, more than the {have:,.0f} MiB that an engine has"
    " here: make shorter texts of fewer parts, ask about fewer patterns, or let less of a stored text be read{p.longest_text}",
    "text too long": "this question could make a text of {size:,.0f} characters, and a computed one has {most:,} at most: put"
    " fewer texts together, or let less of a stored text be read{p.longest_text}",
    # reading rows
    "engine failed": "the engine could not answer from this table (what it says might quote rows)",
    "nothing released": "{why}; no answer was released, and {cost}",
    # ledgers
    "two datasets of a table": "the ledger has both {datasets}: say which one this is{p.dataset}",
    "dataset missing of joined tables": "private tables that are joined are one dataset together, which their owner registers"
    " with a budget of its own: say what it is called in the ledger{p.dataset}. What is spent on each table by itself comes on"
    " top",
    "table not registered": "there is no dataset {dataset} in this ledger; register it first{p.register}; nothing was released",
    "table not registered among others": "there is no dataset {dataset} in this ledger; it has {others}: say which one this is"
    "{p.dataset}, or register it first{p.register}; nothing was released",
    "unit differs": "{dataset} is registered with unit {registered}, and the question has {asked}: name the column that tells"
    " persons apart{p.unit}",
    "registration differs": "{dataset} is registered with {what} {registered}, and the question has {asked}: ask with that, or,"
    " if it is a mistake, register another name, and ask by that name{p.dataset}",
    "registered already": "{dataset} is registered already: its budget cannot be given twice",
    "registered already, unused": "{dataset} is registered already: its budget cannot be given twice; nothing was charged to"
    " it, and if something in it is wrong, close it{p.close_dataset}, register another name, and ask by that name{p.dataset}",
    "registered already, closed": "{dataset} is registered already: its budget cannot be given twice; nothing was charged to"
    " it, and it is closed: register another name, and ask by that name{p.dataset}",
    "asker missing": "{dataset} has allowances: say who asks{p.asker}; nothing was released",
    "asker is everybody": "{name} stands for everybody else in allowances, and cannot be a name: say who asks{p.asker}",
    # a service
    "purpose missing": "{dataset} needs approval: say what the answer is for{p.purpose}",
}
