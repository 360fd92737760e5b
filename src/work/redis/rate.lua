-- Whether one more may happen now: so many in a row, and then one each time an interval has passed.
-- KEYS: when all of it will be free again. ARGV: how many in a row, microseconds of an interval
local free = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + ARGV[2]
if free - now > ARGV[1] * ARGV[2] then return 0 end
redis.call('SET', KEYS[1], whole(free), 'PX', math.ceil((free - now) / 1000))
return 1
