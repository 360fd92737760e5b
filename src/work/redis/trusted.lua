-- The caller is still at it. Answers what it is trusted with now, or nothing when that is somebody else's.
-- KEYS: what is known. ARGV: what the caller was trusted with, microseconds of trust
if redis.call('HGET', KEYS[1], 'until') ~= ARGV[1] then return false end
redis.call('HSET', KEYS[1], 'until', whole(now + ARGV[2]))
return whole(now + ARGV[2])
