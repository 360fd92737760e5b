-- KEYS: ready, thread. ARGV: thread's name, epoch, length of the lease in microseconds
if redis.call('HGET', KEYS[2], 'held') ~= ARGV[2] then return 0 end
redis.call('ZADD', KEYS[1], 'XX', whole(now + ARGV[3]), ARGV[1])
return 1
