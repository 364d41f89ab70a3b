-- 6 how long waits are kept, 7 number of calls, 8.. calls, then waits
confirm()
local running, W = {}, base .. 'w'
local last = 7 + tonumber(ARGV[7])
for i = 8, last do
  if lease(ARGV[i]) then
    running[#running + 1] = ARGV[i]
  end
end
for i = last + 1, #ARGV do
  call('HSET', W, ARGV[i], exact(now + ARGV[6]))
end
if last < #ARGV then
  call('PEXPIRE', W, math.ceil(ARGV[6] / 1000) + 1000)
end
local waits = {}
local all = call('HGETALL', W)
for i = 1, #all, 2 do
  if tonumber(all[i + 1]) <= now then
    call('HDEL', W, all[i])
  else
    waits[#waits + 1] = all[i]
  end
end
return { 'K', departed, running, waits }
