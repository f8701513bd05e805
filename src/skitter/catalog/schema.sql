-- The embedded catalog.

CREATE TABLE job (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE page (
    id          INTEGER PRIMARY KEY,     -- order of arrival
    job         INTEGER NOT NULL,
    record_id   BLOB NOT NULL,           -- 16 bytes
    outcome     TEXT NOT NULL,
    status_code INTEGER,
    error       TEXT,
    url         TEXT NOT NULL,
    timestamp   TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    segment     TEXT,
    offset      INTEGER,
    size        INTEGER,                 -- bytes of the record in its segment
    record      BLOB NOT NULL            -- the whole record as JSON, zlib
);
CREATE UNIQUE INDEX page_id ON page (job, record_id);

CREATE TABLE output (
    job    INTEGER NOT NULL,
    path   TEXT NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (job, path)
);
