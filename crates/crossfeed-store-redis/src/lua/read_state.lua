-- 1 time or nothing. A record is `FORMAT VERSION UNTIL [EARLIER…]\nVALUE`.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
-- `GETEX` counts as a write, so that a primary that was replaced refuses it: see `session.lua`.
local record = redis.call('GETEX', KEYS[1])
if not record then
  return false
end
local until_ = string.match(record, '^%d+ %x+ (%d+)')
-- One that cannot be read is given as it is: the caller says so.
return (not until_ or tonumber(until_) > now) and record
