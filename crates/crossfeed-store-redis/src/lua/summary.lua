-- What a session holds, for its tenant's account.
confirm()
mend()
local time = call('TIME')
local bytes, classes = 0, {}
local sums = call('HGETALL', M)
for i = 1, #sums, 2 do
  if sums[i] == 'b' then
    bytes = tonumber(sums[i + 1])
  else
    classes[#classes + 1] = sums[i] .. ':' .. sums[i + 1]
  end
end
return {
  'K', departed, exact(time[1] * 1000000 + time[2]), exact(bytes), exact(call('HLEN', H)),
  call('ZRANGE', U, 0, 0, 'WITHSCORES')[2] or '', table.concat(classes, ' '),
}
