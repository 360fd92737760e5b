-- Whether this server was not known before: it is another one, was started anew, or lost everything. What it lacks then is
-- made up for by one caller, who is trusted with it for a while; when it does not say that it has done so, by the next.
-- KEYS: what is known. ARGV: ms it is kept, microseconds of trust
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('HGET', KEYS[1], 'server') ~= server then redis.call('HSET', KEYS[1], 'server', server, 'until', 0) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local trusted = tonumber(redis.call('HGET', KEYS[1], 'until') or math.huge)
if trusted > now then return false end
redis.call('HSET', KEYS[1], 'until', whole(now + ARGV[2]))
return whole(now + ARGV[2])
