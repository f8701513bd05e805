-- name: jobs
SELECT id, name, job_id, spec, state, max_pages, created_s, version, scope_seeds, accepted, done,
       failed, redirected, body_bytes, dropped
FROM job ORDER BY id

-- name: requests
-- Every request of a job, so sorted that two of one fingerprint are neighbours.
SELECT id, fingerprint, generation, url, state, reason,
       EXISTS (SELECT 1 FROM lease WHERE lease.request = request.id)
FROM request WHERE job = (SELECT id FROM job WHERE name = ?)
ORDER BY fingerprint, id

-- name: fingerprints
SELECT fingerprint FROM request WHERE job = (SELECT id FROM job WHERE name = ?)

-- name: stray
-- Leases of requests that there are not.
SELECT token, worker, request FROM lease WHERE request NOT IN (SELECT id FROM request)
