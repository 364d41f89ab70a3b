-- What scripts share that record results or take them away.
local X, M = base .. 'x', base .. 'm'
local T, Z, F, D = base .. 't', base .. 'z', base .. 'f', base .. 'd'

local function exact(number)
  return string.format('%.0f', number)
end

local function read(head)
  local token, bytes, born, class, identity, place =
    string.match(head, '^%d+ (%x+) (%d+) (%d+) (%S+) (%S+) (%a)')
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
    call('HINCRBY', T, '', 0 - string.match(stone, '^%d+ %a %d (%d+)'))
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
  if r.born + memory > now then
    remember(r.token)
  end
  departed[#departed + 1] = table.concat({ why, r.place, r.token, r.identity }, ' ')
  call('UNLINK', base .. 'b:' .. id)
end

-- Takes a result away: `x` expired, `e` evicted.
local function take_away(id, head, why)
  local r = read(head)
  call('HDEL', H, id)
  call('ZREM', U, id)
  call('ZREM', X, id)
  if call('EXISTS', H) == 0 then
    call('DEL', M, U, X)
  elseif call('EXISTS', M) == 1 then
    call('HINCRBY', M, 'b', 0 - r.bytes)
    if call('HINCRBY', M, r.class, 0 - r.bytes) <= 0 then
      call('HDEL', M, r.class)
    end
  end
  depart(id, why, r)
  local tail = string.sub(head, string.find(head, '\n', 1, true) + 1)
  bury(id, why, r.class, tail)
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
local function tidy()
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
end

-- Makes the tables agree again, should the server have dropped one. Gives the number of results.
local function mend()
  local number = call('HLEN', H)
  if call('ZCARD', U) == number and call('ZCARD', X) == number and call('EXISTS', M) == math.min(number, 1) then
    return number
  end
  call('DEL', M)
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
    call('HINCRBY', M, 'b', r.bytes)
    call('HINCRBY', M, r.class, r.bytes)
    call('ZADD', U, 'NX', r.born, id)
    call('ZADD', X, 'NX', r.born, id)
  end
  for _, key in ipairs({ H, U, X, M }) do
    call('PEXPIRE', key, keep)
  end
  return number
end

-- A lease that is not over: owner, nonce, until, and how to repeat its call.
local function lease(id)
  local value = call('HGET', F, id)
  if not value then
    return nil
  end
  local owner, nonce, until_ = string.match(value, '^%d+ (%x+) (%x+) (%d+)')
  if tonumber(until_) <= now then
    return nil
  end
  return { owner = owner, nonce = nonce, value = value }
end

local function wake()
  redis.pcall('PUBLISH', base .. 'c', '')
end
