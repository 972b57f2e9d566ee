"""The functions of a ledger in Postgres, the only way to lock and extend it.

Askers may call them and read, and have no right to write a table. They run with the rights of the ledger's owner, on
tables of one schema, named explicitly, and nobody may call them without the owner's grant.
"""

from __future__ import annotations

from dataclasses import astuple

from duotone.ledger.stores.postgres_checks import OF_FORM, OF_SUMS, TIME, comparisons, forms
from duotone.ledger.stores.store import SKEW, Row

LOCK, APPEND = "duotone_lock()", "duotone_append(integer, text, text, text, text, text)"
STANDBYS = "duotone_standbys()"
FUNCTIONS = (LOCK, APPEND, STANDBYS, *OF_FORM, *OF_SUMS)
VERSION = "(SELECT value FROM duotone_ledger WHERE name = 'schema')"
VERSION_OF_ENTRIES = "'1'"
_TYPES = {
    "charge": {
        "string": ("version", "question", "notion", "boundary", "key", "at"),
        "boolean": ("again",),
        "object": ("after",),
        "number": ("v",),
    },
    "answer": {"string": ("key", "at"), "object": ("after",), "number": ("v",)},
}
_OF_ASKER = {"string": ("by", "filed"), "object": ("asker_spent",)}
"""Further fields of a charge with allowances."""
_STANDBYS = """
            WITH slots AS (SELECT slot_type, active_pid FROM pg_replication_slots WHERE NOT temporary),
            senders AS (
                SELECT pid, sync_state FROM pg_stat_replication WHERE application_name IS DISTINCT FROM 'pg_basebackup'
                AND pid NOT IN (SELECT active_pid FROM slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL))
            SELECT CASE
                WHEN EXISTS (SELECT FROM senders WHERE sync_state IS NULL) THEN 'hidden'
                WHEN EXISTS (SELECT FROM senders WHERE sync_state <> 'sync') OR EXISTS (
                    SELECT FROM slots WHERE slot_type = 'physical'
                    AND NOT EXISTS (SELECT FROM senders WHERE pid = active_pid AND sync_state = 'sync')) THEN 'asynchronous'
                ELSE 'none' END"""
"""Whether a standby is attached, or has a slot, that commits do not wait for: none; one; or hidden from the ledger's
owner."""
_OWNER = "pg_has_role(session_user, current_user, 'MEMBER')"
_SEARCHED = "SET search_path = pg_catalog, pg_temp"
_RIGHTS = f"SECURITY DEFINER {_SEARCHED}"


def functions(schema: str) -> tuple[str, ...]:
    """The statements that create them in a schema (quoted as the server quotes it)."""
    return (
        *comparisons(schema, _SEARCHED),
        *forms(schema, _SEARCHED),
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_lock() RETURNS void LANGUAGE plpgsql {_RIGHTS} AS $duotone$
        BEGIN
            LOCK TABLE {schema}.duotone_entries IN EXCLUSIVE MODE;
            LOCK TABLE {schema}.duotone_ledger IN ROW EXCLUSIVE MODE;
        END $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_append(
            entry_seq integer, entry_dataset text, entry_kind text, entry_question text, entry_body text, entry_hash text
        ) RETURNS void LANGUAGE plpgsql {_RIGHTS} AS $duotone$
        DECLARE
            head text;
            said json := {schema}.duotone_json(entry_body);
            latest timestamptz;
        BEGIN
            PERFORM {schema}.duotone_lock();
            IF entry_kind NOT IN ('charge', 'answer') AND NOT {_OWNER} THEN
                RAISE EXCEPTION 'only the owner of the ledger may do this' USING ERRCODE = 'insufficient_privilege';
            END IF;
            SELECT value INTO head FROM {schema}.duotone_ledger WHERE name = 'head';
            SELECT CASE WHEN dated ~ {TIME} THEN dated::timestamptz ELSE '-infinity' END INTO latest
                FROM (SELECT {schema}.duotone_json(body) ->> 'at' AS dated
                    FROM {schema}.duotone_entries ORDER BY seq DESC LIMIT 1) AS last_entry;
            IF (entry_seq = split_part(head, ' ', 1)::integer + 1
                AND entry_hash = encode(sha256(convert_to(
                    split_part(head, ' ', 2) || E'\\n' || entry_seq || E'\\n' || entry_body, 'UTF8')), 'hex')
                AND entry_dataset = said ->> 'dataset'
                AND entry_kind = said ->> 'kind'
                AND entry_question = coalesce(said ->> 'filed', said ->> 'key', '')
                AND {_well_formed(schema)}
                AND CASE WHEN entry_kind IN ('charge', 'answer')
                    THEN {schema}.duotone_formed(entry_body, said)
                        AND {schema}.duotone_follows(entry_dataset, entry_kind, said) ELSE true END) IS NOT TRUE
            THEN
                RAISE EXCEPTION 'this entry does not follow from the last one' USING ERRCODE = 'DU001';
            END IF;
            IF entry_kind IN ('charge', 'answer') AND NOT {_OWNER} AND (said ->> 'at')::timestamptz
                > greatest(latest, clock_timestamp() + interval '{SKEW.total_seconds():.0f} seconds')
            THEN
                RAISE EXCEPTION 'this entry is of the future' USING ERRCODE = 'DU002';
            END IF;
            INSERT INTO {schema}.duotone_entries (seq, dataset, kind, question, body, hash)
                VALUES (entry_seq, entry_dataset, entry_kind, entry_question, entry_body, entry_hash);
            UPDATE {schema}.duotone_ledger SET value = entry_seq || ' ' || entry_hash WHERE name = 'head';
        END $duotone$""",
        f"""
        CREATE OR REPLACE FUNCTION {schema}.duotone_standbys() RETURNS text LANGUAGE sql {_RIGHTS} AS $duotone$
            {_STANDBYS}
        $duotone$""",
        f"REVOKE ALL ON FUNCTION {schema}.{LOCK}, {schema}.{APPEND}, {schema}.{STANDBYS} FROM PUBLIC",
    )


def _well_formed(schema: str) -> str:
    """A charge or an answer has every field of its kind, each of its type, and belongs to a registered dataset; a
    charge, to one that is not closed."""
    typed = {
        kind: " AND ".join(f"json_typeof(said -> '{name}') = '{form}'" for form, names in forms.items() for name in names)
        for kind, forms in {**_TYPES, "of asker": _OF_ASKER}.items()
    }
    number = "'^[1-9][0-9]{0,17}$'"
    of_kind = f"EXISTS (SELECT FROM {schema}.duotone_entries WHERE dataset = entry_dataset AND kind = "
    called = f"{of_kind}'register' AND body::json -> 'close_calls' IS NOT NULL)"
    count = "'^(0|[1-9][0-9]{0,17})$'"
    return f"""CASE WHEN entry_kind IN ('charge', 'answer')
                    THEN {of_kind}'register')
                        AND said ->> 'v' = {VERSION_OF_ENTRIES}
                        AND (said #> '{{after,calls}}' IS NOT NULL) = {called}
                        AND (said -> 'calls' IS NULL OR ({called} AND json_typeof(said -> 'calls') = 'number'
                            AND said ->> 'calls' ~ CASE entry_kind WHEN 'charge' THEN {number} ELSE {count} END))
                    ELSE true END
                AND CASE entry_kind
                    WHEN 'charge' THEN {typed["charge"]} AND said ->> 'answers' ~ {number}
                        AND json_typeof(said -> 'answers') = 'number' AND NOT {of_kind}'close')
                        AND CASE WHEN NOT {of_kind}'allowance') THEN said -> 'filed' IS NULL
                            ELSE {typed["of asker"]} AND said ->> 'allowance' ~ '^(0|[1-9][0-9]{{0,17}})$'
                                AND json_typeof(said -> 'allowance') = 'number' END
                    WHEN 'answer' THEN {typed["answer"]} AND said ->> 'charge' ~ {number}
                        AND json_typeof(said -> 'charge') = 'number' AND said -> 'answer' IS NOT NULL
                        AND said -> 'filed' IS NULL AND (said -> 'calls' IS NULL OR (said ->> 'reserved' ~ {number}
                            AND json_typeof(said -> 'reserved') = 'number'
                            AND (said ->> 'calls')::bigint <= (said ->> 'reserved')::bigint))
                    ELSE true END"""


def only(schema: str) -> str:
    """Names mean tables of this schema until the transaction ends, not temporary ones or others in the search path."""
    return f"SET LOCAL search_path = {schema}, pg_temp"


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def durable(schema: str) -> str:
    """Make this transaction wait for the disk, and read the other settings by which a crash, or a trigger, could lose
    it."""
    stronger = "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END"
    tables = (
        "(SELECT count(*) = 0 FROM pg_catalog.pg_class c WHERE c.relname IN ('duotone_entries', 'duotone_ledger') "
        f"AND c.relnamespace = {text(schema)}::regnamespace AND "
    )
    permanent = f"{tables}c.relpersistence <> 'p')"
    plain = (
        f"{tables}(c.relrowsecurity OR EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid) "
        "OR EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid) "
        "OR EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhparent, i.inhrelid))))"
    )
    return (
        f"SELECT set_config('synchronous_commit', {stronger}, true), current_setting('fsync'), "
        f"current_setting('full_page_writes'), {permanent}, {plain}, {schema}.{STANDBYS}"
    )


def appending(schema: str, row: Row) -> tuple[str, tuple[object, ...]]:
    """The call that adds an entry and moves the head to it."""
    sql = f"SELECT {schema}.duotone_append(?::integer, ?::text, ?::text, ?::text, ?::text, ?::text)"
    return sql, astuple(row)
