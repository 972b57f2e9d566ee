"""Whether a charge or an answer is written as Duotone writes it, decided by the ledger's own functions in Postgres.

Who asks may append, with any text. One that Duotone could not read would block its dataset for everybody and for ever; one
under the key of another question would be taken for its answer.
"""

from __future__ import annotations

import sys
from itertools import groupby

LONGEST_NAME, LONGEST_QUESTION, LONGEST_DEFINITION = 200, 100_000, 3_000
"""The characters of a name, a question, and a definition or what is fixed at the boundary."""
NESTED = 66
"""Lists and objects within each other in an entry: `DEEPEST` of an answer, the entry itself, and an empty one."""
MOST_DIGITS = 4300
"""Of a whole number that Python reads."""
NAMES = (
    "duotone_names(json)",
    "duotone_raw(text, text[])",
    "duotone_hash(text)",
    "duotone_readable(text)",
    "duotone_formed(text, json)",
)
_CODED = r"""replace(replace(replace(body, E'\\\\', chr(127) || 's'), E'\\"', chr(127) || 'q'), E'\\', chr(127))::json"""
"""JSON without a backslash, so that Postgres reads every string of it, also one that it could not hold. What is written as here
has no character 127."""
_DECODED = r"""replace(replace(replace(written, chr(127) || 'q', E'\\"'), chr(127) || 's', E'\\\\'), chr(127), E'\\')"""
_ESCAPES = r"E'\\\\(?![\\\\\"bfnrtu])|\\\\u[0-9a-f]{0,3}[A-F]|\\\\u00([2-6]|7[0-9a-e]|0[89acd])'"
"""Those that Python does not write."""
_STRING = r"""E'"([^"\\\\]|\\\\.)*"'"""
_LISTS = r"E'\\[[^][{}]*\\]|\\{[^][{}]*\\}'"
TIME = r"E'^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{6})?\\+00:00$'"
_BOUNDARY = r"E'^(balanced|selection|[0-9]+(/[0-9]+)?)(\\+(balanced|selection|[0-9]+(/[0-9]+)?))*$'"
_CHARGE = (
    "'^after,again,(allowance,)?answers,(asker_spent,)?at,boundary,(by,)?(calls,)?dataset,(filed,)?key,kind,notion,question,v,"
    "version$'"
)
_ANSWER = "'^after,answer,at,(calls,)?charge,dataset,key,kind,(reserved,)?v$'"
_AFTER = {
    2: "answers,charges,spent,version",
    3: "allowances,answers,charges,closed,spent,version",
    4: "answers,calls,charges,closed,reserved,spent,version",
}
_COUNTS = "answers", "calls", "charges", "reserved"


def _printable() -> str:
    """What a name may consist of, as a class of a regular expression."""
    runs = (list(run) for printable, run in groupby(range(sys.maxunicode + 1), lambda i: chr(i).isprintable()) if printable)
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)


def forms(schema: str, options: str) -> tuple[str, ...]:
    """The statements that make these functions in a schema (quoted as the server quotes it)."""
    entries = f"{schema}.duotone_entries"
    counts = " AND ".join(f"coalesce((said #> '{{after,{name}}}')::text, '0') ~ '^(0|[1-9][0-9]{{0,17}})$'" for name in _COUNTS)
    after = " ".join(f"WHEN '{v}' THEN '{names}'" for v, names in _AFTER.items())
    return (
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_names(object json) RETURNS text LANGUAGE sql {options} AS $duotone$
            SELECT CASE WHEN json_typeof(object) = 'object' THEN (
                SELECT CASE WHEN '{{' || string_agg('"' || key || '":' || value::text, ',') || '}}' = object::text
                    THEN string_agg(key, ',') END FROM json_each(object)) END
        $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_raw(body text, names text[]) RETURNS text
        LANGUAGE sql {options} AS $duotone$
            SELECT {_DECODED} FROM (
                SELECT string_agg(({_CODED} -> name)::text, ',' ORDER BY place) written
                FROM unnest(names) WITH ORDINALITY AS listed (name, place)) joined
        $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_hash(written text) RETURNS text LANGUAGE sql {options} AS $duotone$
            SELECT encode(sha256(convert_to(written, 'UTF8')), 'hex')
        $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_readable(body text) RETURNS boolean LANGUAGE plpgsql {options} AS $duotone$
        DECLARE
            rest text := replace(body, E'\\\\\\\\', '');
        BEGIN
            IF body ~ '[^ -~]' OR rest ~ {_ESCAPES} THEN
                RETURN false;
            END IF;
            rest := regexp_replace(rest, {_STRING}, '0', 'g');
            IF rest ~ ' |[eE][+]?(309|3[1-9][0-9]|[4-9][0-9][0-9]|[0-9]{{4}})' OR (rest ~ '[0-9]{{255}}' AND (
                    SELECT max(length(digits)) FROM regexp_split_to_table(rest, '[^0-9]+') digits) > {MOST_DIGITS}) THEN
                RETURN false;
            END IF;
            FOR depth IN 1..{NESTED} LOOP
                EXIT WHEN rest = '0';
                rest := regexp_replace(rest, {_LISTS}, '0', 'g');
            END LOOP;
            RETURN rest = '0';
        END $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_formed(body text, said json) RETURNS boolean
        LANGUAGE plpgsql {options} AS $duotone$
        DECLARE
            first text := (SELECT e.body FROM {entries} e WHERE dataset = said ->> 'dataset' AND kind = 'register' LIMIT 1);
            latest json := {schema}.duotone_json((SELECT e.body FROM {entries} e ORDER BY seq DESC LIMIT 1));
            own {entries}%ROWTYPE;
        BEGIN
            IF ({schema}.duotone_readable(body)
                AND {schema}.duotone_names(said) ~ CASE said ->> 'kind' WHEN 'charge' THEN {_CHARGE} ELSE {_ANSWER} END
                AND {schema}.duotone_names(said -> 'after') = CASE said ->> 'v' {after} END AND {counts}
                AND (said -> 'filed' IS NULL) = (said -> 'allowance' IS NULL)
                AND (said -> 'filed' IS NULL) = (said -> 'asker_spent' IS NULL)
                AND said ->> 'at' ~ {TIME} AND CASE WHEN latest ->> 'at' ~ {TIME}
                    THEN (said ->> 'at')::timestamptz >= (latest ->> 'at')::timestamptz ELSE true END) IS NOT TRUE
            THEN
                RETURN false;
            END IF;
            IF said ->> 'kind' = 'answer' THEN
                RETURN (said -> 'calls' IS NULL) = (said -> 'reserved' IS NULL);
            END IF;
            IF (length(said ->> 'question') BETWEEN 1 AND {LONGEST_QUESTION}
                AND length(said ->> 'notion') <= {LONGEST_DEFINITION}
                AND said ->> 'boundary' ~ CASE WHEN said -> 'calls' IS NULL THEN {_BOUNDARY} ELSE '^[ -~]+$' END
                AND length(said ->> 'boundary') <= {LONGEST_DEFINITION}
                AND (said -> 'by' IS NULL OR (json_typeof(said -> 'by') = 'string' AND said ->> 'by' <> '*'
                    AND length(said ->> 'by') BETWEEN 1 AND {LONGEST_NAME} AND said ->> 'by' ~ '^[{_printable()}]*$'))
                AND said ->> 'key' = {schema}.duotone_hash('{{"same":[' || {schema}.duotone_raw(
                    body, '{{dataset,version,question,notion,boundary,answers}}') || ',' || {schema}.duotone_raw(
                    first, '{{unit,neighbours}}') || ']}}')) IS NOT TRUE
            THEN
                RETURN false;
            END IF;
            IF said -> 'calls' IS NOT NULL THEN
                RETURN (said ->> 'calls')::numeric <= (said ->> 'answers')::numeric
                    AND (said #>> '{{after,calls}}')::numeric + (said #>> '{{after,reserved}}')::numeric
                        <= ({schema}.duotone_json(first) #>> '{{close_calls,count}}')::numeric;
            END IF;
            IF said -> 'filed' IS NULL THEN
                RETURN true;
            END IF;
            SELECT * INTO own FROM {entries} e WHERE question = said ->> 'filed' AND kind IN ('charge', 'asker', 'allowance')
                ORDER BY seq DESC LIMIT 1;
            RETURN said ->> 'filed' = {schema}.duotone_hash(
                    '{{"asker":[' || {schema}.duotone_raw(body, '{{dataset,by}}') || ']}}')
                AND said ->> 'allowance' = CASE own.kind WHEN 'allowance' THEN own.seq::text
                    WHEN 'charge' THEN {schema}.duotone_json(own.body) ->> 'allowance' ELSE '0' END;
        END $duotone$""",
        *(f"REVOKE ALL ON FUNCTION {schema}.{name} FROM PUBLIC" for name in NAMES),
    )
