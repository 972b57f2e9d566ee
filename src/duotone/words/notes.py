"""What to know about a question, its budget and its table: a sentence for each code of a notice, in the form of
`refusals`."""

from __future__ import annotations

from collections.abc import Mapping

_DATES = "{columns:are} text, read as dates (yyyy-mm-dd; a time after it is ignored): other values count as NULL"

NOTES: Mapping[str, str | tuple[str, str]] = {
    # the budget
    "large epsilon": "weak: with epsilon {epsilon:g} answers may tell whether a certain person is in the table; 1 is usual",
    "large delta": "weak: with probability up to delta, {delta:g}, answers may give a person away; keep it far below 1 /"
    " (number of people)",
    "coin toss": "a coin toss: with epsilon 0 and delta 0 an answer tells nothing about the table",
    "almost a coin toss": "almost a coin toss: with epsilon 0 each person moves the probability of an answer by at most delta",
    # which tables and rows
    "vouched for people": "vouched for, not checked: each row of {what} is a person, and no row depends on other people's rows",
    "vouched for": "vouched for, not checked: each row of {what} belongs to one person, a {unit}, and no row depends on other"
    " people's rows",
    "public table": "{table} is public: its rows are not protected",
    "private tables": "{tables:are} private, too: neighbours differ in all rows of one person, in all tables",
    "rows are people": (
        "each row is a person: where one can have several, name the column that tells persons apart{p.unit}",
        "each row is a person: somebody with several rows counts several times",
    ),
    # groups
    "group names in the first line": "the first line of {file} names the columns, and is not a group",
    "order by left out": "order by does not matter in a set of answers: it is left out",
    "having is an answer": "having does not leave groups out: each group that is shown has its answer, yes or no",
    "groups selected": "groups are selected privately, with {budget}: {few}{always}{advice}",
    "few people seldom shown": "a group of fewer than {people} people is seldom shown (less than once in 20)",
    "one person may be shown": "even a group of one person may be shown",
    "always shown": ", one of {people:g} or more always",
    "list the groups": ("; for an answer about each, give the public list of groups{p.groups}", ""),
    # values
    "numbers from text": (
        "{columns:are} text: values that are not numbers count as NULL (duotone inspect counts them)",
        "{columns:are} text: values that are not numbers count as NULL",
    ),
    "dates from text": _DATES,
    "dates from a text file": (
        _DATES + " (duotone inspect counts them); if dates are written in another way, declare their format{p.formats:{first}}",
        _DATES,
    ),
    "Booleans from text": "{columns:are} text: true, t, yes, y and 1 count as true, false, f, no, n and 0 as false, and other"
    " values as NULL",
    "texts counted beside numbers": "{column} is text here: NA or n/a counts as a value; write count({column}::double) to count"
    " numbers",
    "texts counted": "{column} is text here, and NULL only where nothing is written: NA counts as a value; write {column} <>"
    " 'NA' to leave it out, or count({column}::double) to count numbers",
    "dates in the order of text": "{column} is compared as text, letter by letter, which is the order of dates only if all"
    " are written as 2025-12-31: write date before the constant to compare dates",
    "order of text": "{column} is compared as text, letter by letter",
    "numbers equal as text": "{column} is compared as text, so 10 and 10.0 differ: leave out the quotes to compare numbers",
    "equality": "{comparison} is never more than one person from {end}: ask for a range, if it may be one",
    "average rounded": "each person's average of {column} is rounded down to a whole number, since its values are whole"
    " numbers",
    "average rounded, with a cure": "each person's average of {column} is rounded down to a whole number, since its values are"
    " whole numbers: to keep its fractions ask about {column} * 1.0, with {declared} for that",
    # answers
    "groups unanswered": "{groups} groups were not answered: there are no close calls left",
}
