-- 6 call, 7 token at hand, 8 `1` if the asking process uses it, 9 owner, 10 nonce, 11 how long, 12 how to repeat it
local id = ARGV[6]
local head = call('HGET', H, id)
if head then
  local r = read(head)
  if has_expired(id, r) and not (r.token == ARGV[7] and ARGV[8] == '1') then
    take_away(id, head, 'x')
  elseif not is_whole(id, r.token, r.place) then
    take_away(id, head, 'e')
  else
    confirm()
    return { 'R', departed }
  end
end
local flight = lease(id)
if flight then
  if flight.nonce ~= ARGV[10] then
    confirm()
    return { 'I', departed }
  end
  -- The same request again, whose answer was lost. A write, for replicas to confirm that they have come this far.
  confirm()
  call('HSET', F, id, flight.value)
  return { 'N', departed }
end
local number = call('HLEN', F)
if number > 0 and number % 64 == 0 then
  for _, other in ipairs(call('HKEYS', F)) do
    if not lease(other) then
      call('HDEL', F, other)
    end
  end
end
call('HSET', F, id, table.concat({ '1', ARGV[9], ARGV[10], exact(now + ARGV[11]), ARGV[12] }, ' '))
call('PEXPIRE', F, math.ceil(ARGV[11] / 500))
return { 'N', departed }
