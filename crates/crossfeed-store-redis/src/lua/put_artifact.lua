-- 2 time to live or nothing, 3 name, 4 token, 5 bytes, 6 identity, 7 place, 8 length, 9 tail, 10 bytes and 11 artifacts of
-- a session, 12 `i`, `s` or `o` as for results, 13 data
local name, token, bytes = ARGV[3], ARGV[4], tonumber(ARGV[5])
local body, stage = base .. 'ab:' .. token, base .. 's:' .. token
local staged = ARGV[12] == 's'
local most = tonumber(ARGV[11])

-- An answer for which nothing is recorded.
local function refuse(why, token, place)
  confirm()
  if staged then
    call('UNLINK', stage)
  end
  return { why, departed, token, place }
end

local head = call('HGET', A, name)
if head and has_expired(read(head)) then
  expire(name, head)
  head = nil
end
if head then
  local r = read(head)
  -- A write, for replicas to confirm that they have come this far.
  confirm()
  call('HSET', A, name, head)
  if r.token == token then
    return refuse('N')
  end
  if not r.place then
    return refuse('G')
  end
  local has_gone = r.place == 'k' and call('EXISTS', base .. 'ab:' .. r.token) == 0
  if r.identity ~= ARGV[6] then
    return refuse(has_gone and 'G' or 'D')
  end
  if has_gone and ARGV[7] ~= 'k' then
    return refuse('G')
  end
  if has_gone then
    -- The server had dropped it; this repairs it.
    local old = base .. 'ab:' .. r.token
    if staged then
      call('RENAME', stage, old)
      call('PERSIST', old)
    else
      call('SET', old, ARGV[13])
    end
    if r.until_ > 0 then
      call('PEXPIRE', old, math.ceil((r.until_ - now) / 1000) + 1000)
    end
    return { 'U', departed, r.token, r.place }
  end
  return refuse('U', r.token, r.place)
end
if call('ZSCORE', D, token) then
  -- The same request again; what it recorded has gone since.
  return refuse('N')
end
if staged and call('EXISTS', stage) == 0 then
  return refuse('A')
end
local held, last = totals()
local number
local function is_full()
  held, last = totals()
  number = call('HLEN', A) - call('HEXISTS', A, '')
  if held + bytes > tonumber(ARGV[10]) then
    return 'B'
  end
  return number + 1 > most and 'C' or nil
end
if is_full() then
  tidy(most)
  local why = is_full()
  if why then
    return refuse(why)
  end
end
local life = tonumber(ARGV[2])
if ARGV[12] == 'i' then
  call('SET', body, ARGV[13])
elseif staged then
  call('RENAME', stage, body)
  call('PERSIST', body)
end
if life and ARGV[7] == 'k' then
  call('PEXPIRE', body, math.ceil(life / 1000) + 1000)
end
call('HDEL', AT, name)
local born = math.max(now, last + 1)
local until_ = life and exact(now + life) or '0'
call('HSET', A, name, table.concat({
  '1', token, ARGV[5], exact(born), until_, ARGV[6], ARGV[7], ARGV[8],
}, ' ') .. '\n' .. ARGV[9])
set_totals(held + bytes, born)
if not life then
  call('PERSIST', A)
elseif number == 0 or call('PTTL', A) > 0 then
  keep(A, math.ceil(life / 500) + 1000)
end
return { 'N', departed }
