-- What scripts on results share. One key is given: what all keys of the session begin with.
--
-- h  hash   call -> header: `FORMAT TOKEN BYTES BORN CLASS IDENTITY PLACE LENGTH\nJSON[\nARGUMENTS]`
-- u  zset   call by its last use       x  zset  call by when it expires
-- m  hash   sums of bytes: `b` of all, and by class
-- t  hash   call -> tombstone: `FORMAT REASON REPEATABLE ARGUMENTS\nJSON[\nARGUMENTS]`; `` -> bytes of arguments
-- z  zset   call of a tombstone by when it was made
-- f  hash   call -> lease: `FORMAT OWNER NONCE UNTIL REPEATABLE\nJSON[\nARGUMENTS]`
-- w  hash   wait -> until              c  channel: a call may have ended
-- b:TOKEN, ab:TOKEN  the data of a result, of an artifact
--
-- The first line of each is the same in every format to come, but for words at its end; so an older version can
-- evict and expire what a newer one has written. Times are microseconds.
local base = KEYS[1]
local H, U, X, M = base .. 'h', base .. 'u', base .. 'x', base .. 'm'
local T, Z, F = base .. 't', base .. 'z', base .. 'f'
local call = redis.call
local max_age = tonumber(ARGV[3])
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

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

-- A number above those of all members, and not before now.
local function next_in(zset)
  local top = call('ZREVRANGE', zset, 0, 0, 'WITHSCORES')[2]
  return top and math.max(now, top + 1) or now
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
  call('ZADD', Z, next_in(Z), id)
  local bytes = call('HINCRBY', T, '', arguments)
  while call('ZCARD', Z) > tonumber(ARGV[4]) or bytes > tonumber(ARGV[5]) do
    local oldest = call('ZRANGE', Z, 0, 0)[1]
    if not oldest then
      call('DEL', T)
      break
    end
    forget_tombstone(oldest)
    bytes = tonumber(call('HGET', T, '') or 0)
  end
  local life = math.ceil(max_age / 400)
  call('PEXPIRE', T, life)
  call('PEXPIRE', Z, life)
end

-- What has left: `REASON CLASS BYTES PLACE TOKEN IDENTITY` each.
local left = {}

local function leave(why, r)
  left[#left + 1] = table.concat({ why, r.class, r.bytes, r.place, r.token, r.identity }, ' ')
  if r.place == 'k' then
    call('UNLINK', base .. 'b:' .. r.token)
  end
end

-- Takes a result away: `x` expired, `e` evicted.
local function lose(id, head, why)
  local r = read(head)
  call('HDEL', H, id)
  call('ZREM', U, id)
  call('ZREM', X, id)
  if call('EXISTS', H) == 0 then
    call('DEL', M, U, X)
  else
    call('HINCRBY', M, 'b', 0 - r.bytes)
    if call('HINCRBY', M, r.class, 0 - r.bytes) <= 0 then
      call('HDEL', M, r.class)
    end
  end
  leave(why, r)
  local tail = string.sub(head, string.find(head, '\n', 1, true) + 1)
  bury(id, why, r.class, tail)
end

-- Counts a use. A server whose memory is full refuses `ZADD` as the first write of a script, though this one takes no
-- memory; so another write goes first.
local function touch(id, r)
  local until_ = math.min(now + ARGV[2], r.born + max_age)
  if r.place == 'k' and until_ > now then
    call('PEXPIRE', base .. 'b:' .. r.token, math.ceil((until_ - now) / 1000) + 1000)
  else
    call('HDEL', H, '')
  end
  call('ZADD', U, next_in(U), id)
  call('ZADD', X, until_, id)
end

-- Whether a result's data is still there: a server that is short of memory may have dropped it.
local function is_whole(r)
  return r.place ~= 'k' or call('EXISTS', base .. 'b:' .. r.token) == 1
end

-- Results that the asking process uses: call -> token.
local pins = {}
local function read_pins(from)
  for i = from, #ARGV, 2 do
    pins[ARGV[i]] = ARGV[i + 1]
  end
end

local function has_expired(id)
  local until_ = call('ZSCORE', X, id)
  return not until_ or tonumber(until_) <= now
end

-- Takes away what has expired.
local function tidy()
  for _, id in ipairs(call('ZRANGEBYSCORE', X, '-inf', now)) do
    local head = call('HGET', H, id)
    if not head then
      call('ZREM', X, id)
    elseif pins[id] ~= read(head).token then
      lose(id, head, 'x')
    end
  end
end

-- Makes the tables agree again, should the server have dropped one.
local function mend()
  local tables = call('EXISTS', H, U, X, M)
  if tables == 4 or tables == 0 then
    return
  end
  local heads = call('HGETALL', H)
  call('DEL', M)
  if #heads == 0 then
    call('DEL', U, X)
    return
  end
  for i = 1, #heads, 2 do
    local id, r = heads[i], read(heads[i + 1])
    call('HINCRBY', M, 'b', r.bytes)
    call('HINCRBY', M, r.class, r.bytes)
    call('ZADD', U, 'NX', r.born, id)
    call('ZADD', X, 'NX', math.min(r.born + ARGV[2], r.born + max_age), id)
  end
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
