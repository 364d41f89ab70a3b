-- What scripts on results share. Two keys are given: what all keys of the session begin with, and `h`. The first
-- never exists, so that a cluster answers TRYAGAIN while the slot of the session moves: neither node has all of it.
--
-- h  hash   call -> header: `FORMAT TOKEN BYTES BORN CLASS IDENTITY PLACE LENGTH\nJSON[\nARGUMENTS]`;
--           `` -> `BYTES RESULTS SINCE UNTIL LEFT`, the sums of all, a time before which none was used or recorded, when the
--           tables end, and when a result last left. Without it, they are to be made to agree again.
-- u  zset   call by its last use       x  zset  call by when it was recorded
-- m  hash   class -> sum of bytes
-- t  hash   call -> tombstone: `FORMAT REASON REPEATABLE ARGUMENTS\nJSON[\nARGUMENTS]`; `` -> bytes of arguments
-- z  zset   call of a tombstone by when it was made
-- f  hash   call -> lease: `FORMAT OWNER NONCE UNTIL REPEATABLE\nJSON[\nARGUMENTS]`
-- w  hash   wait -> until              c  channel: a call may have ended
-- d  zset   token by when its record went, for a minute: a request that arrives twice records nothing again
-- b:CALL    the token of a result, and its data, or the contents of its blob
-- s:TOKEN   data that no record names yet
--
-- The first line of each is the same in every format to come, but for words at its end; so an older version can
-- evict and expire what a newer one has written. Times are microseconds.
--
-- 1 time or nothing, 2 time to live, 3 maximum age, 4 number of tombstones, 5 bytes of their arguments
local base = KEYS[1]
local H, U = KEYS[2], base .. 'u'
local call = redis.call
local time_to_live, max_age = tonumber(ARGV[2]), tonumber(ARGV[3])
-- The time, and as text: numbers are slow to write.
local clock, is_given = ARGV[1], true
if clock == '' then
  local time = call('TIME')
  clock, is_given = time[1] .. string.rep('0', 6 - #time[2]) .. time[2], false
end
local now = tonumber(clock)

-- A number above those of all members, and not before now. The server's own time moves on between
-- scripts by itself.
local function next_in(zset, is_tied)
  local top = (is_given or is_tied) and call('ZREVRANGE', zset, 0, 0, 'WITHSCORES')[2]
  return top and math.max(now, top + 1) or clock
end

-- Data outlives its record a little, so that its end needs to be moved only this often.
local step = time_to_live / 8

-- Longer than the longest life of a result and of its tombstone, in milliseconds.
local keep = math.ceil(max_age / 400)
