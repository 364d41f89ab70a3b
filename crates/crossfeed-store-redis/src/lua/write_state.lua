-- 1 time or nothing, 2 new version, 3 expected: a version, `-` for nothing, `*` for whatever, 4 how long, 5 value
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local record, version = redis.call('GET', KEYS[1]), '-'
if record then
  local found, until_ = string.match(record, '^%d+ (%x+) (%d+)')
  version = tonumber(until_) > now and found or '-'
end
if version == ARGV[2] then
  -- The same request again, whose answer was lost. A write, for replicas to confirm that they have come this far.
  redis.call('SET', KEYS[1], record, 'KEEPTTL')
  return 1
end
if ARGV[3] ~= '*' and ARGV[3] ~= version then
  return 0
end
local life = tonumber(ARGV[4])
redis.call('SET', KEYS[1],
  '1 ' .. ARGV[2] .. ' ' .. string.format('%.0f', now + life) .. '\n' .. ARGV[5],
  'PX', math.max(math.ceil(life / 1000), 1))
return 1
