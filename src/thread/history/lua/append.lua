-- Rounds of a history, each once, if the lease is still held. With an answer the oldest whole turns go, until what is left
-- fits; the request in progress stays. Not before: a turn that is run again must find what it began with.
-- KEYS: thread, history, rounds
-- ARGV: epoch, ms a thread is kept, bytes kept or "" for all, beginning of the request's turns, last fact that was copied or "",
--       then for each round: name (turn, number), tokens, ms of its time or 0 for now, tokens used, items
if redis.call('HGET', KEYS[1], 'held') ~= ARGV[1] then return 0 end
for i = 6, #ARGV, 5 do
  if redis.call('SADD', KEYS[3], ARGV[i]) == 1 then
    local at = ARGV[i + 2] == '0' and whole(now / 1000) or ARGV[i + 2]
    local row = table.concat({ ARGV[i], ARGV[i + 1], at, ARGV[i + 3], ARGV[i + 4] }, '\n')
    redis.call('RPUSH', KEYS[2], row)
    redis.call('HINCRBY', KEYS[1], 'bytes', #row)
    redis.call('HINCRBY', KEYS[1], 'tokens', ARGV[i + 3])
  end
end
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'applied', ARGV[5]) end
local bytes = tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0)
local kept, gone = tonumber(ARGV[3]) or math.huge, nil
while bytes > kept do
  local row = redis.call('LINDEX', KEYS[2], 0)
  if not row then break end
  local name, turn = string.match(row, '^(([^\n]*)\n%d+)\n')
  if string.sub(turn, 1, #ARGV[4]) == ARGV[4] then break end
  redis.call('LPOP', KEYS[2])
  redis.call('SREM', KEYS[3], name)
  bytes = redis.call('HINCRBY', KEYS[1], 'bytes', -#row)
  gone = turn
end
-- Half a turn would show calls without their results.
while gone do
  local row = redis.call('LINDEX', KEYS[2], 0)
  local name, turn = string.match(row or '', '^(([^\n]*)\n%d+)\n')
  if turn ~= gone then break end
  redis.call('LPOP', KEYS[2])
  redis.call('SREM', KEYS[3], name)
  redis.call('HINCRBY', KEYS[1], 'bytes', -#row)
end
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
return 1
