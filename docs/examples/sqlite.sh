#!/bin/sh
# A command and its check for `assay run sqlite.toml --vm`: rows that SQLite has committed are to be there after a cut.
#
#   sqlite.sh fill JOURNAL SYNCHRONOUS    inserts rows, one a transaction, and prints each that is committed
#   sqlite.sh check                       exit code 0: every row that was promised is there, and the database is whole
set -eu

data=rows.db

fill() {
    sqlite3 "$data" "PRAGMA journal_mode=$1; CREATE TABLE IF NOT EXISTS rows (n INTEGER PRIMARY KEY, text TEXT);" >&2
    n=0
    while [ "$n" -lt 1000 ]; do
        n=$((n + 1))
        sqlite3 "$data" "PRAGMA synchronous=$2; INSERT INTO rows VALUES ($n, hex(randomblob(200)));" >&2
        # Only now: what is printed is promised.
        echo "$n"
    done
}

check() {
    # The newest promise covers those before it.
    last=$(tail -n 1 "$ASSAY_ACKNOWLEDGED")
    last=${last:-0}
    [ "$(sqlite3 "$data" 'PRAGMA integrity_check;')" = ok ] || { echo "the database is broken"; exit 1; }
    rows=$(sqlite3 "$data" "SELECT count(*) FROM rows WHERE n <= $last;")
    [ "$rows" = "$last" ] || { echo "of $last promised rows $rows are there"; exit 1; }
}

"$@"
