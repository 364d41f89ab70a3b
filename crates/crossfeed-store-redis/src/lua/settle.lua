-- 1 session, 2 project, 3 token of a reservation that ends, or nothing, 4 version or nothing, 5 bytes, 6 results, 7 time
-- of the least recent use, or nothing, 8 classes, 9 how long a reservation may last, 10 maximum age of a result
local session, project = ARGV[1], ARGV[2]
local function release(token, value)
  local owner, bytes = string.match(value, '^%S+ (%S+) (%d+)')
  call('HDEL', R, token)
  count(owner, 0 - bytes, -1)
end
local reserved = call('HGET', R, ARGV[3])
if reserved then
  release(ARGV[3], reserved)
end
if ARGV[4] == '' then
  return { 'K', {} }
end
-- What a process that died had reserved here is known by now, if it came to be.
local waits = false
local all = call('HGETALL', R)
for i = 1, #all, 2 do
  local owner, since = string.match(all[i + 1], '^(%S+) %S+ %d+ (%d+)')
  if owner == session then
    if since + ARGV[9] <= now then
      release(all[i], all[i + 1])
    else
      waits = true
    end
  end
end
local known = call('HGET', S, session)
if known then
  local version, bytes, results, classes = string.match(known, '^(%d+) %S+ (%d+) (%d+) ?(.*)')
  -- Of two updates at once the later one may come first. One that is much older is of a server whose clock differs.
  local age = version - ARGV[4]
  if age > 0 and age < ARGV[9] + 0 then
    return { 'K', {} }
  end
  count(project, 0 - bytes, 0 - results)
  count_classes(project, classes, -1)
end
local Q = base .. 'q:' .. project
if tonumber(ARGV[6]) > 0 then
  call('HSET', S, session, table.concat({ ARGV[4], project, ARGV[5], ARGV[6], ARGV[8] }, ' '))
  call('ZADD', Q, ARGV[7], session)
  count(project, ARGV[5], ARGV[6])
  count_classes(project, ARGV[8], 1)
else
  call('HDEL', S, session)
  if waits then
    call('ZADD', Q, now, session)
  else
    call('ZREM', Q, session)
  end
end
keep(project, ARGV[10])
return { 'K', {} }
