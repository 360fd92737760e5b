-- Ends a lease. The job is taken out, or rests for a while; then the thread goes to the back of the line, so that a busy
-- one holds up no other. Answers whether the thread has more to do.
-- KEYS: ready, depth, thread, jobs
-- ARGV: thread's name, epoch, id of the job, microseconds it rests, or "" when it is done
if redis.call('HGET', KEYS[3], 'held') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[3], 'held')
local rest = 0
if ARGV[4] == '' then
  redis.call('HDEL', KEYS[3], 'attempts')
  local job = redis.call('LINDEX', KEYS[4], 0)
  if job and string.match(job, '^%d+') == ARGV[3] then
    redis.call('LPOP', KEYS[4])
    if redis.call('DECR', KEYS[2]) < 0 then redis.call('DEL', KEYS[2]) end
  end
else
  rest = ARGV[4]
end
if redis.call('EXISTS', KEYS[4]) == 1 then
  redis.call('ZADD', KEYS[1], whole(now + rest), ARGV[1])
  return 1
end
redis.call('ZREM', KEYS[1], ARGV[1])
return 0
