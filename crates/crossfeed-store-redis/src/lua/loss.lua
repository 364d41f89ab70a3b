-- What scripts share that record results or take them away.
local Z = base .. 'z'

local function nothing()
  return parse_totals('0 0 ' .. clock .. ' 0 ' .. clock)
end

local function totals()
  return parse_totals(call('HGET', H, '')) or nothing()
end

local function read(head)
  local token, bytes, born, class, identity, place =
    string.match(head, '^%d+ (%x+) (%d+) (%d+) (%S+) (%S+) (%a)')
  if not place then
    -- A damaged one goes like any other, and the rest is then summed up anew.
    return { token = '0', bytes = 0, born = now, class = 's-', identity = '-', is_damaged = true }
  end
  return {
    token = token, bytes = tonumber(bytes), born = tonumber(born), class = class, identity = identity,
    place = place,
  }
end

local function forget_tombstone(id)
  local stone = call('HGET', T, id)
  if stone then
    call('HDEL', T, id)
    call('ZREM', Z, id)
    call('HINCRBY', T, '', 0 - (string.match(stone, '^%d+ %a %d (%d+)') or 0))
  end
end

local function bury(id, why, class, tail)
  local cut = string.find(tail, '\n', 1, true)
  local arguments = cut and #tail - cut or 0
  if arguments > 4096 then
    tail = string.sub(tail, 1, cut - 1)
    arguments = 0
  end
  forget_tombstone(id)
  local repeatable = class == 'r' and 1 or 0
  call('HSET', T, id, '1 ' .. why .. ' ' .. repeatable .. ' ' .. arguments .. '\n' .. tail)
  call('ZADD', Z, next_in(Z, true), id)
  local bytes = call('HINCRBY', T, '', arguments)
  while call('ZCARD', Z) > tonumber(ARGV[4]) or bytes > tonumber(ARGV[5]) do
    local oldest = call('ZRANGE', Z, 0, 0)[1]
    if not oldest then
      call('DEL', T)
      break
    end
    forget_tombstone(oldest)
    -- Also where the server had dropped what it is about.
    call('ZREM', Z, oldest)
    bytes = tonumber(call('HGET', T, '') or 0)
  end
  call('PEXPIRE', T, keep)
  call('PEXPIRE', Z, keep)
end

-- How long requests of tokens are known whose records have gone: no request takes longer. In microseconds.
local memory = 60 * 1000000

local function remember(token)
  call('ZADD', D, now, token)
  call('ZREMRANGEBYSCORE', D, '-inf', now - memory)
  call('PEXPIRE', D, memory / 1000)
end

-- What has left: `REASON PLACE TOKEN IDENTITY` each.
local departed = {}

local function depart(id, why, r)
  if r.born + memory > now and not r.is_damaged then
    remember(r.token)
  end
  departed[#departed + 1] = table.concat({ why, r.place or 'k', r.token, r.identity }, ' ')
  call('UNLINK', base .. 'b:' .. id)
end

-- When one was first recorded or used last.
local function first()
  local since = now
  for _, zset in ipairs({ U, X }) do
    since = math.min(since, call('ZRANGE', zset, 0, 0, 'WITHSCORES')[2] or now)
  end
  return exact(since)
end

-- Makes the tables agree again, should the server have dropped one. Gives the totals.
local function mend()
  local t, tables = totals(), call('EXISTS', H, U, X, M)
  if tables == 0 or (tables == 4 and t.results > 0) then
    return t
  end
  t = nothing()
  call('DEL', M)
  call('HDEL', H, '')
  for _, zset in ipairs({ U, X }) do
    for _, id in ipairs(call('ZRANGE', zset, 0, -1)) do
      if call('HEXISTS', H, id) == 0 then
        call('ZREM', zset, id)
      end
    end
  end
  local heads = call('HGETALL', H)
  for i = 1, #heads, 2 do
    local id, r = heads[i], read(heads[i + 1])
    t.bytes, t.results = t.bytes + r.bytes, t.results + 1
    call('HINCRBY', M, r.class, r.bytes)
    call('ZADD', U, 'NX', r.born, id)
    call('ZADD', X, 'NX', r.born, id)
  end
  if t.results > 0 then
    t.since = first()
    is_ending(t)
    call('HSET', H, '', write_totals(t))
    move_ends()
  end
  return t
end

-- Takes a result away: `x` expired, `e` evicted.
local function take_away(id, head, why)
  local r = read(head)
  call('HDEL', H, id)
  call('ZREM', U, id)
  call('ZREM', X, id)
  local t = totals()
  if t.results == 1 then
    call('DEL', H, M, U, X)
  elseif r.is_damaged then
    call('HDEL', H, '')
    mend()
  elseif t.results > 1 and call('EXISTS', M) == 1 then
    t.bytes, t.results, t.left = t.bytes - r.bytes, t.results - 1, clock
    call('HSET', H, '', write_totals(t))
    if call('HINCRBY', M, r.class, 0 - r.bytes) <= 0 then
      call('HDEL', M, r.class)
    end
  end
  depart(id, why, r)
  local line = not r.is_damaged and string.find(head, '\n', 1, true)
  bury(id, why, r.class, line and string.sub(head, line + 1) or '{}')
end

-- Results that the asking process uses: call -> token.
local pins = {}
local function read_pins(from)
  for i = from, #ARGV, 2 do
    pins[ARGV[i]] = ARGV[i + 1]
  end
end

local function has_expired(id, r)
  return is_over(tonumber(call('ZSCORE', U, id) or r.born), r.born)
end

-- Takes away what has expired.
local function tidy(t)
  if not may_expire(t) then
    return
  end
  for _, zset in ipairs({ U, X }) do
    local age = zset == U and time_to_live or max_age
    for _, id in ipairs(call('ZRANGEBYSCORE', zset, '-inf', now - age)) do
      local head = call('HGET', H, id)
      if not head then
        call('ZREM', zset, id)
      elseif pins[id] ~= read(head).token then
        take_away(id, head, 'x')
      end
    end
  end
  t = totals()
  if t.results > 0 then
    t.since = first()
    call('HSET', H, '', write_totals(t))
  end
end

-- A lease that is not over: owner, nonce, until, and how to repeat its call.
local function lease(id)
  local value = call('HGET', F, id)
  if not value then
    return nil
  end
  local owner, nonce, until_ = string.match(value, '^%d+ (%x+) (%x+) (%d+)')
  if not until_ or tonumber(until_) <= now then
    return nil
  end
  return { owner = owner, nonce = nonce, value = value }
end
