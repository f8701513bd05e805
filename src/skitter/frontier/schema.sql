-- The embedded frontier. One row per request for as long as the job exists, so that
-- its fate can always be told; counters live with the job, so that nothing is ever counted.

CREATE TABLE job (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    job_id      TEXT NOT NULL,
    spec        BLOB NOT NULL,              -- JobSpec as JSON
    state       TEXT NOT NULL,
    max_pages   INTEGER,
    created_s   REAL NOT NULL,
    version     INTEGER NOT NULL DEFAULT 0, -- grows with the scope
    scope_seeds BLOB NOT NULL,              -- JSON array of URLs
    accepted    INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    redirected  INTEGER NOT NULL DEFAULT 0,
    body_bytes  INTEGER NOT NULL DEFAULT 0,
    dropped     BLOB NOT NULL DEFAULT '{}'  -- reason -> count, JSON
);

CREATE TABLE domain (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    rate          BLOB,                       -- Rate as JSON, where it differs from the default
    crawl_delay_s REAL,
    blocked       INTEGER NOT NULL DEFAULT 0,
    hold_until_s  REAL NOT NULL DEFAULT 0,    -- epoch
    hold_step     INTEGER NOT NULL DEFAULT 0,
    hold_reason   TEXT
);

-- Only domains that gave cause for one: open breakers, lowered rates.
CREATE TABLE health (
    domain INTEGER PRIMARY KEY,
    state  BLOB NOT NULL                      -- HealthRow as JSON
);

CREATE TABLE request (
    id              INTEGER PRIMARY KEY,          -- order of acceptance
    job             INTEGER NOT NULL,
    domain          INTEGER NOT NULL,
    fingerprint     INTEGER NOT NULL,
    state           INTEGER NOT NULL,             -- 0 queued, 1 delayed, 2 done, 3 redirected, 4 failed, 5 dropped
    priority        INTEGER NOT NULL,             -- with its lift
    depth           INTEGER NOT NULL,
    url             TEXT NOT NULL,
    parent          TEXT,
    redirected_from TEXT,
    hops            INTEGER NOT NULL DEFAULT 0,
    kind            TEXT,                         -- NULL: a page
    is_seed         INTEGER NOT NULL DEFAULT 0,
    generation      INTEGER NOT NULL DEFAULT 0,
    tries           INTEGER NOT NULL DEFAULT 0,
    holds           INTEGER NOT NULL DEFAULT 0,
    not_before_s    REAL NOT NULL DEFAULT 0,      -- epoch; for delayed ones
    reason          TEXT                          -- of a dropped one
);

-- The queue itself: only what waits is in it.
CREATE INDEX queue ON request (domain, job, priority DESC, id) WHERE state = 0;
CREATE INDEX delayed ON request (not_before_s) WHERE state = 1;

-- How much of its priority a waiting request owes to the death of its workers.
CREATE TABLE lift (
    request INTEGER PRIMARY KEY,
    points  INTEGER NOT NULL
);

-- What a job has spent on a domain; see `skitter.frontier.budgets`.
CREATE TABLE budget (
    job     INTEGER NOT NULL,
    domain  INTEGER NOT NULL,
    pattern TEXT NOT NULL,                -- empty: the domain itself
    pages   INTEGER NOT NULL,
    credit  REAL NOT NULL,
    PRIMARY KEY (job, domain, pattern)
) WITHOUT ROWID;

CREATE TABLE worker (
    name       TEXT PRIMARY KEY,
    deadline_s REAL NOT NULL    -- epoch; what it leased is its own until then
);

CREATE TABLE lease (
    token   INTEGER PRIMARY KEY AUTOINCREMENT,  -- fencing: never used twice
    request INTEGER NOT NULL UNIQUE,
    worker  TEXT NOT NULL,
    since_s REAL NOT NULL
);
