-- The thread that has waited longest, of those whose time has come: new, free again, rested, or left by a dead worker.
-- Its place in the line is now the end of the lease, so that it comes up again by itself if nobody renews it.
-- KEYS: ready. The other keys are those of a thread that is only known here, and lie in the same slot.
-- ARGV: what keys of this partition begin with, length of the lease in microseconds
while true do
  local thread = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'LIMIT', 0, 1)[1]
  if not thread then return false end
  local job = redis.call('LINDEX', ARGV[1] .. 'j:' .. thread, 0)
  if job then
    local key = ARGV[1] .. 't:' .. thread
    -- Never below the clock: an epoch from before all was lost is not handed out again.
    local epoch = math.max((redis.call('HGET', key, 'epoch') or 0) + 1, math.floor(now / 1000))
    redis.call('HSET', key, 'epoch', whole(epoch), 'held', whole(epoch))
    local attempts = redis.call('HINCRBY', key, 'attempts', 1)
    redis.call('ZADD', KEYS[1], whole(now + ARGV[2]), thread)
    local more = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'LIMIT', 0, 1)[1] and 1 or 0
    return { thread, epoch, attempts, tonumber(redis.call('HGET', key, 'applied') or 0), more, job }
  end
  redis.call('ZREM', KEYS[1], thread)
end
