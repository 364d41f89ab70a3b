-- What a session holds, for its tenant's account.
confirm()
local t = mend()
local time = call('TIME')
local classes = {}
local sums = call('HGETALL', M)
for i = 1, #sums, 2 do
  classes[#classes + 1] = sums[i] .. ':' .. sums[i + 1]
end
return {
  'K', departed, exact(time[1] * 1000000 + time[2]), exact(t.bytes), exact(t.results),
  call('ZRANGE', U, 0, 0, 'WITHSCORES')[2] or '', table.concat(classes, ' '),
}
