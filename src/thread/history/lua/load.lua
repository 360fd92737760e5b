-- The newest rounds of a history, the newest first, as far as a turn needs them: its own, and of earlier ones until their
-- tokens pass the budget and a whole turn is among them. One round more than that tells that something was left out.
-- KEYS: history. ARGV: the turn, the budget, what facts begin with
local found, left, turns, last = {}, tonumber(ARGV[2]), 0, nil
for i = 1, redis.call('LLEN', KEYS[1]) do
  local row = redis.call('LINDEX', KEYS[1], -i)
  found[#found + 1] = row
  local turn, tokens = string.match(row, '^([^\n]*)\n%d+\n(%d+)\n')
  if turn ~= ARGV[1] then
    if turn ~= last and string.sub(turn, 1, #ARGV[3]) ~= ARGV[3] then turns = turns + 1 end
    last = turn
    left = left - tokens
    if left < 0 and turns > 1 then break end
  end
end
return found
