-- What was lacking is made up for. KEYS: what is known. ARGV: what the caller was trusted with
if redis.call('HGET', KEYS[1], 'until') == ARGV[1] then redis.call('HDEL', KEYS[1], 'until') end
return 1
