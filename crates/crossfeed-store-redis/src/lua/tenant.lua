-- What scripts on a tenant's account share. For the keys that are given see `session.lua`.
--
-- n         hash  `b` bytes and `n` results of all, reservations included
-- o         zset  project by its bytes
-- c         hash  `PROJECT CLASS` -> bytes
-- s         hash  session -> `VERSION PROJECT BYTES RESULTS CLASS:BYTES…`, as it was last reported
-- r         hash  token -> `SESSION PROJECT BYTES SINCE`, a reservation for a result that is being recorded
-- q:PROJECT zset  session by a time that is not later than its least recent use
local base = KEYS[1]
local N, O, C, S, R = base .. 'n', base .. 'o', base .. 'c', base .. 's', base .. 'r'
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local function count(project, bytes, results)
  if call('HINCRBY', N, 'b', bytes) < 0 then
    call('HSET', N, 'b', 0)
  end
  if call('HINCRBY', N, 'n', results) < 0 then
    call('HSET', N, 'n', 0)
  end
  if tonumber(call('ZINCRBY', O, bytes, project)) <= 0 then
    call('ZREM', O, project)
  end
end

local function count_classes(project, classes, sign)
  for class, bytes in string.gmatch(classes, '(%S+):(%d+)') do
    local field = project .. ' ' .. class
    if call('HINCRBY', C, field, sign * bytes + 0) <= 0 then
      call('HDEL', C, field)
    end
  end
end

-- Moves the ends of an account away: when nothing was recorded for longer than the maximum age of a result, there is none.
local function keep(project, max_age)
  local milliseconds = math.ceil(max_age / 400) + 60000
  local keys = { O, C, S, R, base .. 'q:' .. project }
  if call('PTTL', N) < milliseconds * 0.9 then
    keys[#keys + 1] = N
    for _, other in ipairs(call('ZRANGE', O, 0, -1)) do
      keys[#keys + 1] = base .. 'q:' .. other
    end
  end
  for _, key in ipairs(keys) do
    call('PEXPIRE', key, milliseconds)
  end
end
