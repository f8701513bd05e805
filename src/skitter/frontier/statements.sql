-- name: add_request
-- A request accepted for the first time.
INSERT INTO request (id, job, domain, fingerprint, state, priority, depth, url, parent,
                     redirected_from, hops, kind, is_seed, generation)
VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: end_request
-- A terminal outcome.
UPDATE request SET state = ?, reason = ? WHERE id = ?

-- name: delay_request
-- Another try, later.
UPDATE request SET state = 1, not_before_s = ?, priority = ?, tries = ?, holds = ? WHERE id = ?

-- name: raise_request
-- A request whose worker died goes ahead of its equals.
UPDATE request SET priority = ? WHERE id = ?

-- name: has_lift
-- A folder from before there was such a table has none.
SELECT 1 FROM sqlite_master WHERE name = 'lift'

-- name: make_lift
CREATE TABLE IF NOT EXISTS lift (request INTEGER PRIMARY KEY, points INTEGER NOT NULL)

-- name: lifts
SELECT request, points FROM lift

-- name: save_lift
INSERT OR REPLACE INTO lift (request, points) VALUES (?, ?)

-- name: end_lift
DELETE FROM lift WHERE request = ?

-- name: delete_lifts
DELETE FROM lift WHERE request IN (SELECT id FROM request WHERE job = ?)

-- name: refill
-- The best entries of a job at a domain beyond a key, best first.
SELECT id, priority, depth, url, fingerprint, parent, redirected_from, hops, kind, is_seed,
       generation, tries, holds
FROM request INDEXED BY queue
WHERE state = 0 AND domain = :domain AND job = :job
  AND priority <= :priority AND (priority < :priority OR id > :id)
  AND id NOT IN (SELECT request FROM lease)
ORDER BY priority DESC, id
LIMIT :limit

-- name: queue_lengths
-- How many are queued, per domain and job, those that are leased included.
SELECT domain, job, count(*) FROM request INDEXED BY queue WHERE state = 0 GROUP BY domain, job

-- name: delayed
-- Everything that waits for its next try.
SELECT job, domain, not_before_s, id, priority, depth, url, fingerprint, parent, redirected_from,
       hops, kind, is_seed, generation, tries, holds
FROM request WHERE state = 1 AND id NOT IN (SELECT request FROM lease)

-- name: leased
-- Everything that is in somebody's hands.
SELECT lease.token, lease.worker, request.job, request.domain, request.state, request.id, priority,
       depth, url, fingerprint, parent, redirected_from, hops, kind, is_seed, generation, tries,
       holds
FROM lease JOIN request ON request.id = lease.request

-- name: seen
-- The fingerprints of a job among the requests of some numbers.
SELECT fingerprint FROM request WHERE id > ? AND id <= ? AND job = ?

-- name: add_lease
INSERT INTO lease (token, request, worker, since_s) VALUES (?, ?, ?, ?)

-- name: end_lease
DELETE FROM lease WHERE token = ?

-- name: extend
-- The heartbeat: one row, however many leases.
INSERT INTO worker (name, deadline_s) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET deadline_s = excluded.deadline_s

-- name: remove_worker
DELETE FROM worker WHERE name = ?

-- name: workers
SELECT name, deadline_s FROM worker

-- name: last_token
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'lease'), 0)

-- name: last_request
SELECT coalesce(max(id), 0) FROM request

-- name: add_domain
INSERT INTO domain (id, name) VALUES (?, ?)

-- name: domains
SELECT id, name, rate, crawl_delay_s, blocked, hold_until_s, hold_step, hold_reason FROM domain

-- name: set_manners
UPDATE domain SET rate = ?, crawl_delay_s = ?, blocked = ? WHERE id = ?

-- name: set_hold
UPDATE domain SET hold_until_s = ?, hold_step = ?, hold_reason = ? WHERE id = ?

-- name: has_health
-- A folder from before there was such a table has none.
SELECT 1 FROM sqlite_master WHERE name = 'health'

-- name: make_health
CREATE TABLE IF NOT EXISTS health (domain INTEGER PRIMARY KEY, state BLOB NOT NULL)

-- name: healths
SELECT domain, state FROM health

-- name: set_health
INSERT OR REPLACE INTO health (domain, state) VALUES (?, ?)

-- name: clear_health
DELETE FROM health WHERE domain = ?

-- name: add_job
INSERT INTO job (name, job_id, spec, state, max_pages, created_s, scope_seeds)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: make_priority
-- What was submitted with a job; a folder from before there was such a table gets it.
CREATE TABLE IF NOT EXISTS priority (job INTEGER PRIMARY KEY, priority INTEGER NOT NULL)

-- name: has_priority
SELECT 1 FROM sqlite_master WHERE name = 'priority'

-- name: priorities
SELECT job, priority FROM priority

-- name: save_priority
INSERT OR REPLACE INTO priority (job, priority) VALUES (?, ?)

-- name: clear_priority
DELETE FROM priority WHERE job = ?

-- name: jobs
SELECT id, name, job_id, spec, state, max_pages, created_s, version, scope_seeds, accepted, done,
       failed, redirected, body_bytes, dropped
FROM job ORDER BY id

-- name: leased_per_job
SELECT request.job, count(*) FROM lease JOIN request ON request.id = lease.request
GROUP BY request.job

-- name: save_job
UPDATE job SET state = ?, max_pages = ?, version = ?, scope_seeds = ?, accepted = ?, done = ?,
               failed = ?, redirected = ?, body_bytes = ?, dropped = ?
WHERE id = ?

-- name: has_budget
-- A folder from before there was such a table has none.
SELECT 1 FROM sqlite_master WHERE name = 'budget'

-- name: make_budget
CREATE TABLE IF NOT EXISTS budget (
    job INTEGER NOT NULL, domain INTEGER NOT NULL, pattern TEXT NOT NULL,
    pages INTEGER NOT NULL, credit REAL NOT NULL,
    PRIMARY KEY (job, domain, pattern)
) WITHOUT ROWID

-- name: budgets
SELECT job, domain, pattern, pages, credit FROM budget

-- name: save_budget
INSERT INTO budget (job, domain, pattern, pages, credit) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (job, domain, pattern) DO UPDATE SET pages = excluded.pages, credit = excluded.credit

-- name: delete_budgets
DELETE FROM budget WHERE job = ?

-- name: delete_job
DELETE FROM job WHERE id = ?

-- name: delete_leases
DELETE FROM lease WHERE request IN (SELECT id FROM request WHERE job = ?)

-- name: delete_requests
DELETE FROM request WHERE job = ?
