-- 6 call, 7 token
confirm()
local head = call('HGET', H, ARGV[6])
if head and read(head).token == ARGV[7] then
  take_away(ARGV[6], head, 'e')
end
return { 'K', departed }
