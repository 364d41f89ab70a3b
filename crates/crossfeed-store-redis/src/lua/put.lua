-- 6 call, 7 token, 8 bytes, 9 class, 10 `IDENTITY PLACE LENGTH` and the other lines of the header, 11 bytes and 12 results
-- of a session, 13 `i` or `s` for data that comes here or that lies under its token already, `o` for a blob, 14 token and
-- data, or token and contents of a blob, or nothing, 15 `1` if a new result was not reserved in its tenant's account and
-- must be, 16.. pins. Finds out whether the id is free and there is room, as there is for most; else `make_room.lua` is next.
local id, token, bytes, class = ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9]
local max_bytes, max_results = tonumber(ARGV[11]), tonumber(ARGV[12])
local body = base .. 'b:' .. id
local stage = ARGV[13] == 's' and base .. 's:' .. token

local found = call('HMGET', H, id, '')
local t = parse_totals(found[2])
local tables = call('EXISTS', H, U, X, M)
if tables == 0 then
  t = parse_totals('0 0 ' .. clock .. ' 0 ' .. (call('EXISTS', T, D) == 0 and '0' or clock))
elseif tables ~= 4 then
  -- The server has dropped one.
  t = nil
end
local is_free = t and not found[1] and ARGV[15] ~= '1' and not may_expire(t)
  and t.bytes + bytes <= max_bytes and t.results + 1 <= max_results
  -- Neither a tombstone nor the same request before.
  and (t.left == '0' or not (call('HGET', T, id) or call('ZSCORE', D, token)))
  and not (stage and call('EXISTS', stage) == 0)
local answer = 'N'
