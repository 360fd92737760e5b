-- A job, unless one of its marks was seen. All marks are set all the same: each names the same message.
-- KEYS: ready, depth, thread, jobs, history, rounds, mark...
-- ARGV: thread's name, job, "1" to take part, ms a thread is kept, ms a mark is kept, whom to tell, what
local fresh = true
for i = 7, #KEYS do
  if not redis.call('SET', KEYS[i], '', 'NX', 'PX', ARGV[5]) then fresh = false end
end
if not fresh then return 0 end
local id = redis.call('HINCRBY', KEYS[3], 'jobs', 1)
redis.call('RPUSH', KEYS[4], id .. '\n' .. whole(now / 1000) .. '\n' .. ARGV[2])
if ARGV[3] == '1' then redis.call('HSET', KEYS[3], 'joined', 1) end
-- A thread that waits, runs or rests already keeps its place.
redis.call('ZADD', KEYS[1], 'NX', whole(now), ARGV[1])
redis.call('INCR', KEYS[2])
for i = 1, 6 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
redis.call('PUBLISH', ARGV[6], ARGV[7])
return 1
