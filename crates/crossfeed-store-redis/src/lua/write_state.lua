-- 1 time or nothing, 2 new version, 3 expected: a version, `-` for nothing, `*` for whatever, 4 how long, or nothing to
-- remove it, 5 value. EARLIER are the versions before, the latest first, by which a request that arrives twice is known.
-- So a record that has ended or was removed stays for a minute, with an end that is over.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local record, version, earlier = redis.call('GET', KEYS[1]), '-', ''
if record then
  local found, until_, words = string.match(record, '^%d+ (%x+) (%d+)([^\n]*)')
  if until_ then
    version = tonumber(until_) > now and found or '-'
    -- More than others write while one request is under way.
    earlier = string.sub(' ' .. found .. words, 1, 16 * 17)
  else
    -- It cannot be read, so that it is neither absent nor of any version.
    version = ''
  end
  if string.find(earlier, ARGV[2], 1, true) then
    -- The same request again, whose answer was lost. A write, for replicas to confirm that they have come this far.
    redis.call('GETEX', KEYS[1])
    redis.call('SET', KEYS[1], record, 'KEEPTTL')
    return 1
  end
end
if ARGV[3] ~= '*' and ARGV[3] ~= version then
  redis.call('GETEX', KEYS[1])
  return 0
end
local until_, milliseconds = '0', 60000
if ARGV[4] == '' then
  -- So that a server whose memory is full accepts the next write.
  redis.call('DEL', KEYS[1])
else
  until_ = string.format('%.0f', now + ARGV[4])
  milliseconds = milliseconds + math.ceil(ARGV[4] / 1000)
end
redis.call('SET', KEYS[1], '1 ' .. ARGV[2] .. ' ' .. until_ .. earlier .. '\n' .. ARGV[5], 'PX', milliseconds)
return 1
