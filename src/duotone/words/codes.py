"""Codes: a sentence for each code of a refusal or a notice; pairs have a second sentence for analysts.

A template names the fields, `{o.max_rows}` an option as the reader writes it, and `{p.max_rows}` the same in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping

Text = str | tuple[str, str]
"""A sentence for all audiences; or one for most and one for analysts, who cannot declare what its advice names."""
_INNER = "the inner select makes one row per person: it is grouped by the unit, and by nothing else"
_TWO_SIDES = " (two sides: twice the smaller p-value)"

SENTENCES: Mapping[str, Text] = {
    # several questions, or a part of one
    "in a question": "{question}: {why}",
    # opening a table
    "several tables": "{place} may hold many tables: say which{p.table}",
    "several tables of a cluster": "a Spark cluster may hold many tables: say which{p.table}, by name or by the path of Parquet"
    " files",
    "columns missing": "the columns of {path} depend on its rows: name them{p.json_columns}",
    "several separators": "the first line of {path} has {separators}, and either could separate the columns: say which one"
    " does{p.separator}, or put double quotes around the names of columns that contain the other",
    "not vouched": "{what} is not a stored table, and may mix people up or fail on a row: create a table from it, or vouch for"
    " it{p.vouched}: that each row belongs to one person, and that no row depends on other people's rows",
    "unit missing between tables": "several private tables are joined by people: name the column that tells persons"
    " apart{p.unit}",
    # reading a question
    "not understood": "{why}; or ask it of random parts of the people{p.parts}",
    "join with no public table": "{join}: {joins}; declare one{p.public}, if all may know its rows",
    "unit missing in an inner select": _INNER + "; say which column that is{p.unit}",
    "undeclared": "{types:used}: say what {types:held}, this or another type{p.types:{types}}; {types:others}{o.declare}",
    "no private table of that name": "the inner select that is joined is about {table}: it must be about one of the further"
    " private tables, and none is declared{p.also}",
    "other private tables": "the inner select that is joined is about {table}: it must be about one of the further private"
    " tables, which are {tables}",
    "options of definite answers": "a question that may be too close to call takes its budget from its ThreeWay, and has no"
    " costs: leave epsilon, delta, costs, margins and {o.max_groups} out",
    # the budget of a question
    "budget missing": 'say how private the answer must be: epsilon=1, delta=1e-6, or a definition as ApproxDP(1, "1e-6")',
    "two budgets": "there are two budgets: give {o.epsilon}, or {o.wrong} with {o.people}, or {o.one_of}, or {o.price}",
    "people missing": "{o.wrong} is for a number of people who would flip the answer: say how many{p.people}",
    "costs of a wanted error": "how often an answer may be wrong is for both mistakes alike: leave {o.costs} out",
    "ledger missing": "{o.one_of} and {o.price} are parts of a dataset's budget in a ledger: say which ledger{p.ledger}",
    "several accounts": "the datasets of this ledger have different budgets: say which one this is{p.dataset}",
    "asked in different ways": "the datasets of this ledger are asked in different ways: say which one this is{p.dataset}",
    "price of a sum": "{o.price} is for a dataset with the account renyi, and this one adds up epsilon and delta: give"
    " {o.epsilon}, or {o.wrong} with {o.people}, or {o.one_of}",
    "groups have no error": "which groups there are has no wrong answer: give {o.epsilon}, {o.one_of} or {o.price}",
    # parts of the people
    "not a question for parts": "{what} cannot be asked of parts: {why}; it must be one yes/no value{p.parts}",
    "text for parts": "{what} cannot be asked of parts: {why}; a text file's columns are text: say what they hold{p.types}, or"
    " write x::double",
    "not a function of a file": "{name} is not a function at the top of a Python file: each part is asked by a fresh"
    " interpreter, which imports it by name; write it into a file",
    "tables beside parts": "a question of parts is about one table: leave {o.also} and {o.public} out",
    "unused by parts": "{key} is not used if parts are asked: leave it out",
    # a test of a hypothesis
    "no hypothesis": "a hypothesis is about shares, with =, <= or >=: share(readmitted) = 0.1, share(readmitted) filter (where"
    " age > 65) <= 0.1, share(after > before) = share(after < before), or share(readmitted) filter (where ward = 'A') ="
    " share(readmitted) filter (where ward = 'B')",
    "groups of a hypothesis": "of two shares both have a filter, or none has: write share(x) filter (where ward = 'A') ="
    " share(x) filter (where ward <> 'A')",
    "sample_size missing": "where neighbours differ in one person's data, a test needs the public number of people that the"
    " share is of{p.sample_size}",
    "sample_size missing of a picture": "the power of a test can be drawn for a public number of people: say how many"
    "{p.sample_size}",
    "sample_size of two shares": "a public number of people is for one share that is compared with a number: leave"
    " {o.sample_size} out",
    "test needs counts": "a test needs a noisy count of people: give {o.epsilon}, and a delta of at least 1e-38",
    "test of a known number": "the most powerful private test of a binomial with a public number of people" + _TWO_SIDES,
    "test of both counts": "an exact test of the noisy counts of the yes and of the no, whose sum is public" + _TWO_SIDES,
    "test of a private number": "an exact test at the worst number of people that the noisy counts allow" + _TWO_SIDES,
    "test of pairs": "the sign test of those for whom the two differ, exact at the worst number of them that the noisy counts"
    " allow" + _TWO_SIDES,
    "test of two groups": "Fisher's product of a test of either group, at the worst common share and numbers of people"
    + _TWO_SIDES,
    # what is declared
    "bounds missing": "a {what} of {column} needs bounds: give the lowest and the highest value that counts{p.bounds:{column}}",
    "bounds missing of a computed value": "a {what} of {column} needs bounds: give the lowest and the highest value that counts"
    "{p.bounds:{column}}; they do not follow from bounds of its columns",
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
    "max_groups unused": "an inner select has one row per person, in one group: leave {o.max_groups} out",
    "groups unused": "a list of groups is for a question with group by",
    "groups of others": "{o.groups} has no list for {by}, by which the question is grouped: give one, or leave {o.groups} out",
    "at_least unused": "{o.at_least} is for groups that are selected privately: leave it out",
    "groups missing of several answers": "which of several answers is true is asked of listed groups: give the public list of"
    " groups{p.groups}",
    "options of yes and no": "which of several answers is true has no margin, no costs of mistakes, and is never too close to"
    " call: give {o.epsilon}, and leave {o.margins} and {o.costs} out",
    "groups missing of a leader": "which group leads is asked of a public list of groups: give it{p.groups}, or in the"
    " question, as in where {column} in ({two})",
    "groups missing": "with group by, each group is a question of its own: give the public list of groups{p.groups}, or first"
    " ask which groups may be shown, at a price of its own",
    "groups missing of how many": "how many groups is asked of a public list of groups, by {by}: give it{p.groups}",
    "groups or unit missing": "an inner select makes one row per group of a public list, by {by}: give the list"
    "{p.groups}; or, if {by} tells persons apart, say which column that is{p.unit}",
    "groups, or unit missing": "{why}; or, if the inner select makes one row per person, say which column that is{p.unit}",
    # the work of a question
    "too much memory": "this question could need {need:,.0f} MiB for {what}, more than the {have:,.0f} MiB that an engine has"
    " here: make shorter texts of fewer parts, ask about fewer patterns, or read less of stored texts{p.longest_text}",
    "text too long": "this question could make a text of {size:,.0f} characters, and the limit is {most:,}: join"
    " fewer texts, or read less of stored texts{p.longest_text}",
    # reading rows
    "engine failed": "the engine could not answer from this table (what it says might quote rows)",
    "nothing released": "{why}; no answer was released, and {cost}",
    # ledgers
    "two datasets of a table": "the ledger has both {datasets}: say which one this is{p.dataset}",
    "dataset missing of a data frame": "a data frame has no name, and the datasets of this ledger are {datasets}: say which one"
    " it is{p.dataset}",
    "dataset missing of joined tables": "private tables that are joined are one dataset together, which their owner registers"
    " with a budget of its own: say what it is called in the ledger{p.dataset}. What is spent on each table by itself comes on"
    " top, unless all are charged to one population",
    "table not registered": "there is no dataset {dataset} in this ledger; register it first{p.register}; nothing was released",
    "table not registered among others": "there is no dataset {dataset} in this ledger; it has {others}: say which one this is"
    "{p.dataset}, or register it first{p.register}; nothing was released",
    "unit differs": "{dataset} is registered with unit {registered}, and the question has {asked}: name the column that tells"
    " persons apart{p.unit}",
    "registration differs": "{dataset} is registered with {what} {registered}, and the question has {asked}: ask with that, or,"
    " if it is a mistake, register another name, and ask by that name{p.dataset}",
    "registered already": "{dataset} is registered already: its budget cannot be given twice; to do nothing if it is the same,"
    " say so{p.if_absent}",
    "registered already, unused": "{dataset} is registered already: its budget cannot be given twice; to do nothing if it is"
    " the same, say so{p.if_absent}; nothing was charged to it, and if something in it is wrong, close it{p.close_dataset},"
    " register another name, and ask by that name{p.dataset}",
    "registered already, closed": "{dataset} is registered already: its budget cannot be given twice; nothing was charged to"
    " it, and it is closed: register another name, and ask by that name{p.dataset}",
    "registered differently": "{dataset} is registered already, and differently: {differs}; a budget is given once, and a new"
    " version by its label alone",
    "budget of a member": "{dataset} would be charged to {population}: leave its budget, account and close calls out, or the"
    " population",
    "population is a member": "{member} is itself charged to {population}: let {dataset} have the population {population}",
    "of the population": "{dataset} is charged to {population}: do this to {population}",
    "budget, unit or neighbours missing": "give {dataset} a budget, and say what is protected (unit) and how neighbours differ;"
    " or name its population, which has all that",
    "asker missing": "{dataset} has allowances: say who asks{p.asker}; nothing was released",
    "asker is everybody": "{name} means everybody else in a list of allowances, so nobody can ask by that name: say who"
    " asks{p.asker}",
    # a service
    "purpose missing": "{dataset} needs approval: say what the answer is for{p.purpose}",
    # notes: the budget
    "large epsilon": "weak: with epsilon {epsilon:g} answers may tell whether a certain person is in the table; 1 is usual",
    "large delta": "weak: with probability up to delta, {delta:g}, answers may give a person away; keep it far below 1 /"
    " (number of people)",
    "coin toss": "a coin toss: with epsilon 0 and delta 0 an answer tells nothing about the table",
    "almost a coin toss": "almost a coin toss: with epsilon 0 each person moves the probability of an answer by at most delta",
    # notes: which tables and rows
    "vouched for people": "vouched for, not checked: each row of {what} is a person, and no row depends on other people's rows",
    "vouched for": "vouched for, not checked: each row of {what} belongs to one person, a {unit}, and no row depends on other"
    " people's rows",
    "public table": "{table} is public: its rows are not protected",
    "private tables": "{tables:are} private, too: neighbours differ in all rows of one person, in all tables",
    "rows are people": (
        "each row is a person: where one can have several, name the column that tells persons apart{p.unit}",
        "each row is a person: somebody with several rows counts several times",
    ),
    # notes: parts
    "by parts": "asked of each of {parts} random parts of the people by itself: the answer says whether it holds in most of"
    " them, and not more; one {unit} changes one part",
    "by parts, replaced": "asked of each of {parts} random parts of the people by itself: the answer says whether it holds in"
    " most of them, and not more; a {unit} that is replaced may change two, so that two parts count as one",
    "parts in sight": "this system does not hide other files, other processes, or the clock, from what is asked of a part: ask"
    " only what you trust",
    # notes: groups
    "group names in the first line": "the first line of {file} names the columns, and is not a group",
    "order by left out": "order by changes nothing, since answers have no order: it is left out",
    "having is an answer": "having does not leave groups out: each group that is shown has its answer, yes or no",
    "how many groups": "{groups} groups are counted, those of the list: one without rows is a group of nobody",
    "groups selected": "groups are selected privately: {none}{few}{always}{advice}",
    "fewer never shown": "one of fewer than {people} people is never shown, ",
    "few people seldom shown": "one of fewer than {people} people is seldom shown (less than once in 20)",
    "few people may be shown": "even one of no more than {people} may be shown",
    "always shown": ", one of {people:g} or more always",
    "sizes are noisy": "sizes are noisy: nearly all are off by at most {off}, and none by more than {most}; a small group that"
    " is shown seems larger than it is",
    "answers about small groups": "about a group of {people} people or fewer an answer is the toss of a coin, and of m people"
    " more it is no surer than one that m people could flip",
    "answers share by order": "{answers} answers share the budget by one Rényi order ({order}), as yes and no alone: {gain};"
    " for margins and sizes, divide it{p.margins}",
    "shown from": "a group of {people} people is then shown half of the time, and if the budget were divided, one of {evenly}",
    "seldom wrong from": "an answer is then wrong at most once in a thousand if {people} people would flip it, and if the"
    " budget were divided, {evenly}",
    "questions share by order": "{questions} questions share epsilon and delta by one Rényi order: release them together, or"
    " divide these for a ledger{p.margins}",
    "shared in an account renyi": "answers that share epsilon and delta by one Rényi order are for an account sum: here give a"
    " price of order {order}, or divide epsilon and delta{p.margins}",
    "list the groups": ("; for an answer about each, give the public list of groups{p.groups}", ""),
    # notes: values
    "numbers from text": "{columns:are} text: values that are not numbers count as NULL",
    "dates from text": "{columns:are} text, read as dates (yyyy-mm-dd; a time after it is ignored): other values count as NULL",
    "Booleans from text": "{columns:are} text: true, t, yes, y and 1 count as true, false, f, no, n and 0 as false, and other"
    " values as NULL",
    "bounds follow": "{value} is clipped to [{low}, {high}], as follows from the bounds of its columns; for others,"
    " declare them{p.bounds:{value}}",
    "clipped values": "{comparisons:are} about clipped values: with 1% of {of} cut to {ends}, by {by} on average{beyond}, the"
    " {what} as stored is up to {one} {way}, with 10% up to {ten}, so near {near} the answer may be another",
    "or rows beyond": ", or beyond {most} of one {unit}",
    "groups beyond": "one {unit} counts in at most {most}: who is in more is left out of the others, so that counts and sums"
    " of a group may be lower than those of the table",
    "rows beyond": "{comparisons:are} about at most {most} of one {unit}: with 1% of {of} beyond, the {what} as stored is up to"
    " {one} {way}, with 10% up to {ten}, so near {near} the answer may be another",
    "clipped variance": "{comparisons:are} about clipped values: with 1% of them cut to {ends}, each by up to {by}, the"
    " variance as stored is up to {one} higher, with 10% up to {ten}, so near the limit the answer may be another",
    "clipped before reduced": "{comparisons:are} about clipped rows: if rows of 1% of the people are cut to {ends}, the share"
    " that meets the limit is up to {one} away, of 10% up to {ten}",
    "clipped quantiles": "{comparisons:are} about clipped values: a quantile outside {ends} counts as the nearer end",
    "bounds decide": "{comparisons:are} true of all values within {ends}, to which they are clipped: of any table with a value,"
    " whatever is stored there",
    "percent": "{written} is read as {share}",
    "percent beyond": "{column} is per cent, read as shares: {limit} is {whole}%, so write {limit}% for that many per cent",
    "equality": "{comparison}: one person is always enough for a {end}, so the other answer is never sure; ask for a"
    " range, if it may be one",
    "average rounded": "each person's average of {column} is rounded down to a whole number, since its values are whole"
    " numbers",
    "average rounded, with a cure": "each person's average of {column} is rounded down to a whole number, since its values are"
    " whole numbers: to keep its fractions, ask about {column} * 1.0, and declare {declared} for that value",
    # notes: answers
    "no test": (
        "the answer is about these people, and is no test: whether it is more than chance in a larger population, duotone test"
        " says",
        "the answer is about these people, and is no test of a larger population",
    ),
    "groups unanswered": "{groups} groups were not answered: there are no close calls left",
}
