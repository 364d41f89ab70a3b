-- What a session holds in all. Numbers are kept as text, which is exact.
local X, M = base .. 'x', base .. 'm'
local T, F, D = base .. 't', base .. 'f', base .. 'd'

local function exact(number)
  return string.format('%.0f', number)
end

local function parse_totals(text)
  local bytes, results, since, ends, left = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)')
  return left and {
    bytes = tonumber(bytes), results = tonumber(results), since = since, ends = ends, left = left,
  }
end

local function write_totals(t)
  return exact(t.bytes) .. ' ' .. t.results .. ' ' .. t.since .. ' ' .. t.ends .. ' ' .. t.left
end

-- Whether there may be a result whose time is over.
local function may_expire(t)
  return t.since + math.min(time_to_live, max_age) <= now
end

-- Whether the ends of the tables are to be moved, which is then noted.
local function is_ending(t)
  if t.ends + 0 < now + keep * 900 then
    t.ends = exact(now + keep * 1000)
    return true
  end
end

local function move_ends()
  for _, key in ipairs({ H, U, X, M }) do
    call('PEXPIRE', key, keep)
  end
end

local function wake()
  redis.pcall('PUBLISH', base .. 'c', '')
end
