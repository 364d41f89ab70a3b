-- 6 call, 7 owner
confirm()
local value = call('HGET', F, ARGV[6])
if value and string.match(value, '^%d+ (%x+)') == ARGV[7] then
  call('HDEL', F, ARGV[6])
  wake()
end
return { 'K', departed }
