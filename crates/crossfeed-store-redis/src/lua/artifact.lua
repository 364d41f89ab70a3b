-- What scripts on artifacts share. 1 time or nothing. For the keys see `session.lua`.
--
-- a   hash  `ARTIFACT\nCALL` -> header: `FORMAT TOKEN BYTES BORN UNTIL IDENTITY PLACE LENGTH\nJSON[\nSUMMARY]`;
--           `` -> `BYTES LAST`, the bytes of all and when the last was recorded. UNTIL is 0 where there is no end.
-- at  hash  the same name -> tombstone: `FORMAT BORN\nJSON`
local base = KEYS[1]
local A, AT, D = base .. 'a', base .. 'at', base .. 'd'
local call = redis.call
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function exact(number)
  return string.format('%.0f', number)
end

-- A write that changes nothing and takes no memory: see `session.lua`.
local function confirm()
  call('HDEL', AT, '')
end

-- Gives a table this time at least.
local function keep(key, milliseconds)
  if call('PTTL', key) < milliseconds then
    call('PEXPIRE', key, milliseconds)
  end
end

local function read(head)
  local token, bytes, born, until_, identity, place =
    string.match(head, '^%d+ (%x+) (%d+) (%d+) (%d+) (%S+) (%a)')
  -- A damaged one has no end, and goes with its session.
  return {
    token = token, bytes = tonumber(bytes), born = tonumber(born), until_ = tonumber(until_) or 0,
    identity = identity, place = place,
  }
end

local function totals()
  local bytes, last = string.match(call('HGET', A, '') or '0 0', '^(%d+) (%d+)')
  return tonumber(bytes), tonumber(last)
end

local function set_totals(bytes, last)
  call('HSET', A, '', exact(bytes) .. ' ' .. exact(last))
end

local function has_expired(r)
  return r.until_ > 0 and r.until_ <= now
end

-- What has left: `REASON PLACE TOKEN IDENTITY` each.
local departed = {}

local function expire(name, head)
  local r = read(head)
  call('HDEL', A, name)
  if r.place == 'k' then
    call('UNLINK', base .. 'ab:' .. r.token)
  end
  departed[#departed + 1] = table.concat({ 'a', r.place, r.token, r.identity }, ' ')
  local bytes, last = totals()
  set_totals(math.max(bytes - r.bytes, 0), last)
  local line = string.find(head, '\n', 1, true) or #head
  local json = string.find(head, '\n', line + 1, true) or #head + 1
  call('HSET', AT, name, '1 ' .. exact(r.born) .. '\n' .. string.sub(head, line + 1, json - 1))
  keep(AT, math.ceil((r.until_ - r.born) / 500) + 1000)
end

-- Takes away all that has expired, and forgets the oldest tombstones beyond as many as there may be artifacts.
local function tidy(most)
  local all = call('HGETALL', A)
  for i = 1, #all, 2 do
    if all[i] ~= '' and has_expired(read(all[i + 1])) then
      expire(all[i], all[i + 1])
    end
  end
  local more = call('HLEN', AT) - most
  if more > 0 then
    local stones, named = {}, call('HGETALL', AT)
    for i = 1, #named, 2 do
      stones[#stones + 1] = { named[i], tonumber(string.match(named[i + 1], '^%d+ (%d+)') or 0) }
    end
    table.sort(stones, function(a, b) return a[2] < b[2] end)
    for i = 1, more do
      call('HDEL', AT, stones[i][1])
    end
  end
end
