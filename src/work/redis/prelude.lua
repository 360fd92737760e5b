-- Times are microseconds of the server's clock. A number beyond 10^14 loses digits when Lua writes it by itself.
local function whole(number) return string.format('%.0f', number) end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
