-- name: add_page
INSERT INTO page (job, record_id, outcome, status_code, error, url, timestamp, depth, length,
                  segment, offset, size, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: get
SELECT segment, offset, size, record FROM page WHERE job = ? AND record_id = ?

-- name: pages
-- Exported by default: what was fetched, and what could not be.
SELECT segment, offset, size, record FROM page
WHERE job = ? AND outcome IN ('done', 'failed') ORDER BY id

-- name: all_pages
SELECT segment, offset, size, record FROM page WHERE job = ? ORDER BY id

-- name: add_job
INSERT INTO job (name) VALUES (?) ON CONFLICT DO NOTHING

-- name: job
SELECT id FROM job WHERE name = ?

-- name: save_output
INSERT INTO output (job, path, length) VALUES (?, ?, ?)
ON CONFLICT (job, path) DO UPDATE SET length = excluded.length

-- name: outputs
SELECT path, length FROM output WHERE job = ? ORDER BY rowid

-- name: delete_pages
DELETE FROM page WHERE job = ?

-- name: delete_outputs
DELETE FROM output WHERE job = ?

-- name: delete_job
DELETE FROM job WHERE id = ?
