-- Whether something was lost: this is another server, it was started anew, or what it knew of itself is gone. Each loss
-- begins a generation. What is lacking then is made up for by one caller, who is trusted with it for a while; when it does
-- not say that it has done so, by the next.
-- KEYS: what is known. ARGV: ms it is kept, microseconds of trust
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('HGET', KEYS[1], 'server') ~= server then
  redis.call('HSET', KEYS[1], 'server', server, 'generation', whole(now), 'until', 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local generation = redis.call('HGET', KEYS[1], 'generation')
local trusted = tonumber(redis.call('HGET', KEYS[1], 'until') or math.huge)
if trusted > now then return { generation, false } end
redis.call('HSET', KEYS[1], 'until', whole(now + ARGV[2]))
return { generation, whole(now + ARGV[2]) }
