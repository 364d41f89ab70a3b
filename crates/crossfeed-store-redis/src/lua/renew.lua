-- 6 owner, 7 how long, 8.. calls, each with how to repeat it
confirm()
local lost = {}
for i = 8, #ARGV, 2 do
  local flight = lease(ARGV[i])
  if flight and flight.owner == ARGV[6] then
    call('HSET', F, ARGV[i], table.concat({
      '1', flight.owner, flight.nonce, exact(now + ARGV[7]), ARGV[i + 1],
    }, ' '))
  elseif call('HEXISTS', H, ARGV[i]) == 0 then
    lost[#lost + 1] = ARGV[i]
  end
end
call('PEXPIRE', F, math.ceil(ARGV[7] / 500))
return { 'K', departed, lost }
