"""What a ledger in Postgres has beside its tables: functions by which it is locked and extended, and by which only.

Who asks may call them and read, and has no right to write a table. They run with the rights of the ledger's owner, on
tables of one schema that stands in them by name, and nobody may call them unless the owner says so.
"""

from __future__ import annotations

from duotone.stores.protocol import Row

LOCK, APPEND = "duotone_lock()", "duotone_append(integer, text, text, text, text, text)"
VERSION = "(SELECT value FROM duotone_ledger WHERE name = 'schema')"
_RIGHTS = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"


def functions(schema: str) -> tuple[str, ...]:
    """The statements that make them in a schema (quoted as the server quotes it)."""
    return (
        f"""
        CREATE FUNCTION {schema}.duotone_lock() RETURNS void LANGUAGE plpgsql {_RIGHTS} AS $duotone$
        BEGIN
            LOCK TABLE {schema}.duotone_entries IN EXCLUSIVE MODE;
            LOCK TABLE {schema}.duotone_ledger IN ROW EXCLUSIVE MODE;
        END $duotone$""",
        f"""
        CREATE FUNCTION {schema}.duotone_append(
            entry_seq integer, entry_dataset text, entry_kind text, entry_question text, entry_body text, entry_hash text
        ) RETURNS void LANGUAGE plpgsql {_RIGHTS} AS $duotone$
        DECLARE
            head text;
            said json := entry_body::json;
        BEGIN
            PERFORM {schema}.duotone_lock();
            IF entry_kind NOT IN ('charge', 'answer') AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
                RAISE EXCEPTION 'only the owner of the ledger may do this' USING ERRCODE = 'insufficient_privilege';
            END IF;
            SELECT value INTO head FROM {schema}.duotone_ledger WHERE name = 'head';
            IF (entry_seq = split_part(head, ' ', 1)::integer + 1
                AND entry_hash = encode(sha256(convert_to(
                    split_part(head, ' ', 2) || E'\\n' || entry_seq || E'\\n' || entry_body, 'UTF8')), 'hex')
                AND entry_dataset = said ->> 'dataset'
                AND entry_kind = said ->> 'kind'
                AND entry_question = coalesce(said ->> 'key', '')) IS NOT TRUE
            THEN
                RAISE EXCEPTION 'this entry does not follow from the last one' USING ERRCODE = 'DU001';
            END IF;
            INSERT INTO {schema}.duotone_entries (seq, dataset, kind, question, body, hash)
                VALUES (entry_seq, entry_dataset, entry_kind, entry_question, entry_body, entry_hash);
            UPDATE {schema}.duotone_ledger SET value = entry_seq || ' ' || entry_hash WHERE name = 'head';
        END $duotone$""",
        f"REVOKE ALL ON FUNCTION {schema}.{LOCK}, {schema}.{APPEND} FROM PUBLIC",
    )


def only(schema: str) -> str:
    """Names mean tables of this schema until the transaction ends, not temporary ones or others found first."""
    return f"SET LOCAL search_path = {schema}, pg_temp"


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def durable(schema: str) -> str:
    """Make this transaction wait for the disk, and look at what else decides whether a crash could lose it."""
    stronger = "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END"
    named = f"c.relnamespace = {text(schema)}::regnamespace"
    permanent = (
        "(SELECT count(*) = 0 FROM pg_catalog.pg_class c WHERE c.relname IN ('duotone_entries', 'duotone_ledger') "
        f"AND {named} AND c.relpersistence <> 'p')"
    )
    return (
        f"SELECT set_config('synchronous_commit', {stronger}, true), current_setting('fsync'), "
        f"current_setting('full_page_writes'), {permanent}"
    )


def appending(schema: str, row: Row) -> tuple[str, tuple[object, ...]]:
    """The call that adds an entry and moves the head to it."""
    sql = f"SELECT {schema}.duotone_append(?::integer, ?::text, ?::text, ?::text, ?::text, ?::text)"
    return sql, (row.seq, row.dataset, row.kind, row.question, row.body, row.hash)
