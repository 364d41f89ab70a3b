-- 1 session, 2 project, 3 token, 4 bytes, 5 bytes and 6 results of a tenant, or nothing, 7 maximum age of a result,
-- 8.. projects of which nothing can go
local session, project, bytes = ARGV[1], ARGV[2], tonumber(ARGV[4])
local held = tonumber(call('HGET', N, 'b') or 0)
local results = tonumber(call('HGET', N, 'n') or 0)
local max_bytes, max_results = tonumber(ARGV[5]), tonumber(ARGV[6])
local is_over = max_bytes and held + bytes > max_bytes
if not is_over and not (max_results and results + 1 > max_results) then
  if call('HSETNX', R, ARGV[3], session .. ' ' .. project .. ' ' .. ARGV[4] .. ' ' .. string.format('%.0f', now)) == 1 then
    count(project, bytes, 1)
    call('ZADD', base .. 'q:' .. project, 'NX', now, session)
    keep(project, ARGV[7])
  end
  return { 'K', {} }
end
local exhausted = {}
for i = 8, #ARGV do
  exhausted[ARGV[i]] = true
end
-- The project that holds the most, the result to be recorded included.
local most, weight
if not exhausted[project] then
  most, weight = project, tonumber(call('ZSCORE', O, project) or 0) + bytes
end
local owners = call('ZREVRANGE', O, 0, #ARGV - 6, 'WITHSCORES')
for i = 1, #owners, 2 do
  local owner = owners[i]
  if owner ~= project and not exhausted[owner] then
    if not weight or tonumber(owners[i + 1]) > weight then
      most = owner
    end
    break
  end
end
if not most then
  return { is_over and 'B' or 'C', {} }
end
-- Which of its results go first: see `make_room.lua`.
local total, heavy, repeatable = tonumber(call('ZSCORE', O, most) or 0), '', '0'
local classes = call('HGETALL', C)
for i = 1, #classes, 2 do
  local owner, class = string.match(classes[i], '^(%S+) (%S+)')
  local sum = tonumber(classes[i + 1])
  if owner == most and class == 'r' and sum > 0 then
    repeatable = '1'
  elseif owner == most and sum > total - sum then
    heavy = class
  end
end
return { 'O', {}, most, heavy, repeatable, string.format('%.0f', held) }
