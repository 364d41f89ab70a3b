-- 6 call, 7 token, 8 bytes, 9 class, 10 identity, 11 place, 12 length, 13 tail, 14 bytes and 15 results of a session,
-- 16 `i` or `s` for data that comes here or that lies under its token already, `o` for a blob, 17 token and data,
-- 18 `1` if a new result was not reserved in its tenant's account and must be, 19.. pins. Most requests end here.
local id, token, bytes, class, place = ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9], ARGV[11]
local max_bytes, max_results = tonumber(ARGV[14]), tonumber(ARGV[15])
local body, stage = base .. 'b:' .. id, base .. 's:' .. token
local staged = ARGV[16] == 's'

-- Records a result where there is room.
local function record(t)
  if ARGV[16] ~= 'o' then
    local milliseconds = math.max(math.ceil((math.min(time_to_live, max_age) + step) / 1000), 1)
    if staged then
      call('RENAME', stage, body)
      call('PEXPIRE', body, milliseconds)
    else
      call('SET', body, ARGV[17], 'PX', milliseconds)
    end
  end
  t.bytes, t.results = t.bytes + bytes, t.results + 1
  if t.since + 0 > now then
    t.since = clock
  end
  local ending = is_ending(t)
  call('HSET', H, '', write_totals(t), id, table.concat({
    '1', token, ARGV[8], clock, class, ARGV[10], place, ARGV[12],
  }, ' ') .. '\n' .. ARGV[13])
  call('ZADD', U, next_in(U), id)
  call('ZADD', X, clock, id)
  call('HINCRBY', M, class, ARGV[8])
  if ending then
    move_ends()
  end
  if call('HDEL', F, id) == 1 then
    wake()
  end
end

do
  local found = call('HMGET', H, id, '')
  local t = parse_totals(found[2])
  local tables = call('EXISTS', H, U, X, M)
  if tables == 0 then
    t = nothing(call('EXISTS', T, D) == 0 and '0' or clock)
  elseif tables ~= 4 then
    -- The server has dropped one.
    t = nil
  end
  if t and not found[1] and ARGV[18] ~= '1' and not may_expire(t)
    and t.bytes + bytes <= max_bytes and t.results + 1 <= max_results
    -- Neither a tombstone nor the same request before.
    and (t.left == '0' or not (call('HGET', T, id) or call('ZSCORE', D, token)))
    and not (staged and call('EXISTS', stage) == 0) then
    record(t)
    return { 'N', {} }
  end
end
