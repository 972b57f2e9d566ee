"""What the ledger's own functions in Postgres check before they append: that a charge or an answer is written as
Duotone writes it (`forms`), and that it adds up (`comparisons`).

An asker may append any text, and do nothing else. An entry that Duotone could not read would block its dataset for
everybody permanently; one under the key of another question would be taken for its answer. And the state that an entry
carries (`after`) is compared with that of the entry before: a charge adds exactly what it says, and an answer, which
must be the first of its charge, adds nothing.
"""

from __future__ import annotations

import sys
from itertools import groupby

from duotone.model.cost import TOO_CLOSE

LONGEST_NAME, LONGEST_QUESTION, LONGEST_DEFINITION = 200, 100_000, 3_000
"""Most characters of a name, a question, and a definition or a boundary."""
NESTED = 66
"""Most nested lists and objects in an entry: `DEEPEST` of an answer, the entry itself, and an empty one."""
MOST_DIGITS = 4300
"""Most digits of an integer that Python reads."""
OF_FORM = (
    "duotone_names(json)",
    "duotone_raw(text, text[])",
    "duotone_hash(text)",
    "duotone_readable(text)",
    "duotone_formed(text, json)",
)
_CODED = r"""replace(replace(replace(body, E'\\\\', chr(127) || 's'), E'\\"', chr(127) || 'q'), E'\\', chr(127))::json"""
"""JSON without backslashes, so that Postgres reads every string in it, even one that it cannot store. Text written like
this has no character 127."""
_DECODED = r"""replace(replace(replace(written, chr(127) || 'q', E'\\"'), chr(127) || 's', E'\\\\'), chr(127), E'\\')"""
_ESCAPES = r"E'\\\\(?![\\\\\"bfnrtu])|\\\\u[0-9a-f]{0,3}[A-F]|\\\\u00([2-6]|7[0-9a-e]|0[89acd])'"
"""Escapes that Python does not write."""
_STRING = r"""E'"([^"\\\\]|\\\\.)*"'"""
_LISTS = r"E'\\[[^][{}]*\\]|\\{[^][{}]*\\}'"
TIME = r"E'^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{6})?\\+00:00$'"
_BOUNDARY = (
    r"E'^(balanced|selection|which of [1-9][0-9]{0,4}( in order)?|[0-9]+(/[0-9]+)?)"
    r"(\\+selection)?(\\+order [1-9][0-9]{0,2} of [1-9][0-9]{0,9})?$'"
)
_CHARGE = (
    "'^after,again,(allowance,)?answers,(asker_spent,)?at,boundary,(by,)?(calls,)?dataset,(filed,)?key,kind,"
    "(member,)?notion,question,v,"
    "version$'"
)
_ANSWER = "'^after,answer,at,(calls,)?charge,dataset,key,kind,(reserved,)?v$'"
_AFTER = "'^allowances,answers,(calls,)?charges,closed,(reserved,)?spent,version$'"
_COUNTS = "answers", "calls", "charges", "reserved"
DIGITS = 200
"""Decimal places of logarithms, for a definition with e^ε."""
DIGITS_READ = 4000
"""Most digits of a sum's numerator and denominator, when read."""
EXACT, ROUNDED = "(2::numeric ^ 4224)", "(2::numeric ^ 510)"
"""From which number on a sum is rounded up, and by less than which part of it (see `ledger.sums`)."""
LARGEST = 8192
"""The largest ε of a definition."""
SLACK = "1e-150"
"""How far a sum may be from a recomputed one that involves a logarithm: more than the error of `DIGITS` places, and too
little to spend."""
_BACKSLASHES = r"replace(body, E'\\\\', E'\\u005c')"
"""Each written as one escape, so that every backslash begins one."""
_NO_TEXT = (
    r"E'\\\\u0000|\\\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\\\u[dD][c-fC-F])"
    r"|(?<!\\\\u[dD][89abAB][0-9a-fA-F]{2})\\\\u[dD][c-fC-F][0-9a-fA-F]{2}'"
)
"""Escapes that JSON has and a text of Postgres cannot store: NUL, and unpaired surrogates. For inspection, each becomes
the character 127, which no name has."""
PRICED = "1e-30"
"""Additional tolerance for a price of one Rényi order that follows from an ε: it is rounded up to fewer places."""
_NUMBER = "[0-9]+(?:/[0-9]+)?"
OF_SUMS = (
    "duotone_json(text)",
    "duotone_fraction(text)",
    "duotone_sum(text)",
    "duotone_decimal(numeric[])",
    "duotone_adds(numeric[], numeric[], numeric, numeric[])",
    "duotone_spends(json, json, json)",
    "duotone_follows(text, text, json)",
)


def _printable() -> str:
    """The characters of a name, as a class of a regular expression."""
    runs = (list(run) for printable, run in groupby(range(sys.maxunicode + 1), lambda i: chr(i).isprintable()) if printable)
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)


def forms(schema: str, options: str) -> tuple[str, ...]:
    """The statements that create these functions in a schema (quoted as the server quotes it)."""
    entries = f"{schema}.duotone_entries"
    counts = " AND ".join(f"coalesce((said #> '{{after,{name}}}')::text, '0') ~ '^(0|[1-9][0-9]{{0,17}})$'" for name in _COUNTS)
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
            called json;
            own {entries}%ROWTYPE;
            joined {entries}%ROWTYPE;
        BEGIN
            IF ({schema}.duotone_readable(body)
                AND {schema}.duotone_names(said) ~ CASE said ->> 'kind' WHEN 'charge' THEN {_CHARGE} ELSE {_ANSWER} END
                AND {schema}.duotone_names(said -> 'after') ~ {_AFTER} AND {counts}
                AND (said #> '{{after,calls}}' IS NULL) = (said #> '{{after,reserved}}' IS NULL)
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
                AND (said -> 'calls' IS NOT NULL OR said ->> 'boundary' ~ {_BOUNDARY})
                AND length(said ->> 'boundary') <= {LONGEST_DEFINITION}
                AND (said -> 'by' IS NULL OR (json_typeof(said -> 'by') = 'string' AND said ->> 'by' <> '*'
                    AND length(said ->> 'by') BETWEEN 1 AND {LONGEST_NAME} AND said ->> 'by' ~ '^[{_printable()}]*$'))
                AND said ->> 'key' = {schema}.duotone_hash('{{"same":[' || {schema}.duotone_raw(
                    body, CASE WHEN said -> 'member' IS NULL THEN '{{dataset,version,question,notion,boundary,answers}}'
                        ELSE '{{member,version,question,notion,boundary,answers}}' END::text[]) || ',' || {schema}.duotone_raw(
                    first, '{{unit,neighbours}}') || ']}}')) IS NOT TRUE
            THEN
                RETURN false;
            END IF;
            IF said -> 'member' IS NOT NULL THEN
                SELECT * INTO joined FROM {entries} e WHERE kind = 'member' AND question = {schema}.duotone_hash(
                    '{{"member":[' || {schema}.duotone_raw(duotone_formed.body, '{{member}}') || ']}}')
                    ORDER BY seq DESC LIMIT 1;
                IF (joined.dataset = said ->> 'dataset' AND {schema}.duotone_raw(joined.body, '{{version}}')
                    = {schema}.duotone_raw(body, '{{version}}')) IS NOT TRUE THEN
                    RETURN false;
                END IF;
            END IF;
            IF said -> 'calls' IS NOT NULL THEN
                called := {schema}.duotone_json(first) -> 'close_calls';
                RETURN (said ->> 'calls')::numeric <= (said ->> 'answers')::numeric
                    AND said ->> 'notion' = called ->> 'question'
                    AND said ->> 'boundary' = '{TOO_CLOSE}, wrong ' || (called ->> 'wrong')
                    AND (said #>> '{{after,calls}}')::numeric + (said #>> '{{after,reserved}}')::numeric
                        <= (called ->> 'count')::numeric;
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
        *(f"REVOKE ALL ON FUNCTION {schema}.{name} FROM PUBLIC" for name in OF_FORM),
    )


def comparisons(schema: str, options: str) -> tuple[str, ...]:
    """The statements that create these functions in a schema (quoted as the server quotes it)."""
    entries = f"{schema}.duotone_entries"
    counted = " AND ".join(
        f"coalesce((now -> '{name}')::text, '') = coalesce((before -> '{name}')::text, '')"
        for name in ("version", "allowances", "closed")
    )
    return (
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_json(body text) RETURNS json LANGUAGE plpgsql {options} AS $duotone$
        BEGIN
            PERFORM body::json ->> 'kind';
            RETURN {_BACKSLASHES}::json;
        EXCEPTION WHEN data_exception OR untranslatable_character OR invalid_text_representation THEN
            RETURN regexp_replace({_BACKSLASHES}, {_NO_TEXT}, chr(127), 'g')::json;  -- only to look at
        END $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_fraction(written text) RETURNS numeric[] LANGUAGE sql {options} AS $duotone$
            SELECT CASE WHEN written ~ '^(0|[1-9][0-9]*)(/(2\\^[1-9][0-9]{{0,4}}|[1-9][0-9]*))?$'
                    AND length(split_part(written, '/', 1)) <= {DIGITS_READ}
                    AND length(split_part(written, '/', 2)) <= {DIGITS_READ}
                THEN ARRAY[split_part(written, '/', 1)::numeric, CASE
                    WHEN written ~ '\\^' THEN trunc(power(2::numeric, split_part(written, '^', 2)::numeric))
                    WHEN written ~ '/' THEN split_part(written, '/', 2)::numeric
                    ELSE 1 END] END
        $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_sum(written text) RETURNS numeric[] LANGUAGE sql {options} AS $duotone$
            SELECT CASE WHEN CASE WHEN x[2] = 1 THEN written !~ '/'
                    WHEN written ~ '\\^' THEN x[1] % 2 = 1 AND x[2] > 2::numeric ^ 64
                    ELSE gcd(x[1], x[2]) = 1
                        AND (x[2] <= 2::numeric ^ 64 OR trunc(power(2::numeric, 4 * {DIGITS_READ})) % x[2] <> 0)
                END THEN x END
            FROM {schema}.duotone_fraction(written) x
        $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_decimal(x numeric[]) RETURNS numeric LANGUAGE sql {options} AS $duotone$
            SELECT round(x[1], {DIGITS}) / x[2]
        $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_adds(now numeric[], before numeric[], times numeric, each numeric[])
        RETURNS boolean LANGUAGE plpgsql {options} AS $duotone$
        DECLARE
            top numeric := before[1] * each[2] + times * each[1] * before[2];
            bottom numeric := before[2] * each[2];
            more numeric := now[1] * bottom - top * now[2];
        BEGIN  -- what is more comes from rounding up a sum that is too long, and only then
            RETURN more = 0 OR (more > 0 AND more * {ROUNDED} <= top * now[2]
                AND greatest(top, bottom) >= {EXACT} * gcd(top, bottom));
        END $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_spends(now json, before json, charge json) RETURNS boolean
        LANGUAGE plpgsql {options} AS $duotone$
        DECLARE
            said text[] := regexp_match(charge ->> 'notion',
                '^(epsilon|ratio|order=[1-9][0-9]{{0,2}} price)=({_NUMBER}) delta=({_NUMBER})$');
            times numeric := (charge ->> 'answers')::numeric;
            each numeric[] := {schema}.duotone_fraction(said[2]);
            now_epsilon numeric[] := {schema}.duotone_sum(now ->> 'epsilon');
            was_epsilon numeric[] := {schema}.duotone_fraction(before ->> 'epsilon');
            now_product numeric[] := {schema}.duotone_sum(now ->> 'exp_epsilon');
            was_product numeric[] := {schema}.duotone_fraction(before ->> 'exp_epsilon');
            delta numeric[] := {schema}.duotone_fraction(said[3]);
            log numeric;
            total numeric;
            k numeric := (before ->> 'order')::numeric - 1;
            slack numeric := {SLACK};
        BEGIN
            IF ({schema}.duotone_names(now) = CASE WHEN k IS NULL THEN 'answers,delta,epsilon,exp_epsilon'
                    ELSE 'answers,delta,order,price' END
                AND (now -> 'answers')::text = ((before ->> 'answers')::numeric + times)::text
                AND {schema}.duotone_adds({schema}.duotone_sum(now ->> 'delta'),
                    {schema}.duotone_fraction(before ->> 'delta'), times, delta) AND delta[1] < delta[2]) IS NOT TRUE THEN
                RETURN false;
            END IF;
            IF (each[1] <= {LARGEST} * each[2] OR said[1] <> 'epsilon') IS NOT TRUE
                OR (said[1] LIKE 'order%' AND k IS NULL) THEN
                RETURN false;
            END IF;
            IF k IS NOT NULL THEN
                now_product := {schema}.duotone_sum(now ->> 'price');
                was_product := {schema}.duotone_fraction(before ->> 'price');
                IF (now ->> 'order' = before ->> 'order' AND now_product[1] >= now_product[2]) IS NOT TRUE THEN
                    RETURN false;
                ELSIF said[1] = 'epsilon' THEN
                    log := {schema}.duotone_decimal(each);
                    slack := {PRICED};
                ELSIF (each[1] >= each[2]) IS NOT TRUE THEN
                    RETURN false;
                ELSIF said[1] = 'ratio' THEN
                    log := ln({schema}.duotone_decimal(each));
                    slack := {PRICED};
                ELSIF said[1] = 'order=' || (k + 1)::text || ' price' THEN
                    log := ln({schema}.duotone_decimal(each)) * times;
                ELSE
                    RETURN false;
                END IF;
                IF said[1] IN ('epsilon', 'ratio') AND k * log > 6000 THEN
                    RETURN false;
                ELSIF said[1] IN ('epsilon', 'ratio') THEN
                    log := times * ln((exp((k + 1) * log) + exp(-k * log)) / (1 + exp(log)));
                END IF;
                total := ln({schema}.duotone_decimal(was_product)) + log;
                log := ln({schema}.duotone_decimal(now_product));
                RETURN log >= total - {SLACK} * (1 + total) AND log <= total + slack * (1 + total);
            END IF;
            IF said[1] = 'epsilon' THEN
                RETURN {schema}.duotone_adds(now_epsilon, was_epsilon, times, each)
                    AND now ->> 'exp_epsilon' = before ->> 'exp_epsilon';
            END IF;
            IF (each[1] >= each[2] AND now_product[1] >= now_product[2]) IS NOT TRUE THEN
                RETURN false;
            END IF;
            log := ln({schema}.duotone_decimal(each));
            total := {schema}.duotone_decimal(was_epsilon) + ln({schema}.duotone_decimal(was_product)) + times * log;
            RETURN abs({schema}.duotone_decimal(now_epsilon) + ln({schema}.duotone_decimal(now_product)) - total)
                    <= {SLACK} * (1 + total);
        END $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_follows(entry_dataset text, entry_kind text, said json) RETURNS boolean
        LANGUAGE plpgsql {options} AS $duotone$
        DECLARE
            now json := said -> 'after';
            last json := {schema}.duotone_json((
                SELECT body FROM {entries} WHERE dataset = entry_dataset ORDER BY seq DESC LIMIT 1));
            before json := last -> 'after';
            called numeric := coalesce((before ->> 'calls')::numeric, 0);
            reserved numeric := coalesce((before ->> 'reserved')::numeric, 0);
            asked json;
            own json;
        BEGIN
            IF ({counted}
                AND (now ->> 'charges')::numeric = (before ->> 'charges')::numeric + (entry_kind = 'charge')::integer
                AND (now ->> 'answers')::numeric = (before ->> 'answers')::numeric + (entry_kind = 'answer')::integer
            ) IS NOT TRUE THEN
                RETURN false;
            END IF;
            IF entry_kind = 'answer' THEN
                asked := {schema}.duotone_json((SELECT body FROM {entries}
                    WHERE seq = (said ->> 'charge')::integer AND kind = 'charge' AND dataset = entry_dataset));
                called := called + coalesce((said ->> 'calls')::numeric, 0);
                reserved := reserved - coalesce((said ->> 'reserved')::numeric, 0);
                IF ((asked ->> 'key') = (said ->> 'key')
                    AND coalesce(asked ->> 'calls', '') = coalesce(said ->> 'reserved', '')
                    AND NOT EXISTS (SELECT FROM {entries} WHERE question = said ->> 'key' AND kind = 'answer'
                        AND {schema}.duotone_json(body) ->> 'charge' = said ->> 'charge')) IS NOT TRUE THEN
                    RETURN false;
                END IF;
            ELSE
                IF (said -> 'member' IS NOT NULL OR (said ->> 'version') = (now ->> 'version')) IS NOT TRUE THEN
                    RETURN false;
                END IF;
                reserved := reserved + coalesce((said ->> 'calls')::numeric, 0);
                IF said -> 'filed' IS NOT NULL THEN
                    own := coalesce({schema}.duotone_json((
                        SELECT body FROM {entries}
                        WHERE question = said ->> 'filed' AND kind IN ('charge', 'asker', 'allowance')
                        ORDER BY seq DESC LIMIT 1)), json_build_object('asker_spent', {schema}.duotone_json((
                        SELECT body FROM {entries}
                        WHERE dataset = entry_dataset AND kind = 'register' LIMIT 1)) #> '{{after,spent}}'));
                    IF {schema}.duotone_spends(said -> 'asker_spent', own -> 'asker_spent', said) IS NOT TRUE THEN
                        RETURN false;
                    END IF;
                END IF;
            END IF;
            IF (coalesce((now ->> 'calls')::numeric, 0) = called AND coalesce((now ->> 'reserved')::numeric, 0) = reserved
                AND (now -> 'calls' IS NULL) = (before -> 'calls' IS NULL) AND reserved >= 0) IS NOT TRUE THEN
                RETURN false;
            END IF;
            IF entry_kind = 'answer' OR said -> 'calls' IS NOT NULL THEN
                RETURN (now -> 'spent')::text = (before -> 'spent')::text;
            END IF;
            RETURN {schema}.duotone_spends(now -> 'spent', before -> 'spent', said);
        END $duotone$""",
        *(f"REVOKE ALL ON FUNCTION {schema}.{name} FROM PUBLIC" for name in OF_SUMS),
    )
