-- name: request
-- A request by its fingerprint; there is no index for it, so every one of the job is looked at.
SELECT request.id, url, state, reason, depth, priority, parent, redirected_from, hops, is_seed,
       generation, tries, holds, not_before_s, domain.id, domain.name, lease.worker, lease.since_s
FROM request JOIN domain ON domain.id = request.domain
LEFT JOIN lease ON lease.request = request.id
WHERE request.job = (SELECT id FROM job WHERE name = :job) AND fingerprint IN (:bare, :session)
ORDER BY request.id

-- name: ahead
-- How many of its job's requests a domain serves before this one.
SELECT count(*) FROM request INDEXED BY queue
WHERE state = 0 AND domain = :domain AND job = (SELECT id FROM job WHERE name = :job)
  AND priority >= :priority AND (priority > :priority OR id < :id)

-- name: has_budget
SELECT 1 FROM sqlite_master WHERE name = 'budget'

-- name: budget
-- What a job has spent on a domain.
SELECT pattern, pages, credit FROM budget
WHERE job = (SELECT id FROM job WHERE name = ?)
  AND domain = (SELECT id FROM domain WHERE name = ?)
