-- 6 call, 7 token at hand, 8 `1` if the asking process uses it
local id = ARGV[6]
local head = call('HGET', H, id)
if head then
  local r = read(head)
  local is_same = r.token == ARGV[7]
  if has_expired(id) and not (is_same and ARGV[8] == '1') then
    lose(id, head, 'x')
  elseif is_same then
    touch(id, r)
    return { 'S', left }
  elseif r.place ~= 'k' then
    touch(id, r)
    return { 'F', left, head }
  else
    local body = call('GET', base .. 'b:' .. r.token)
    if body then
      touch(id, r)
      return { 'F', left, head, body }
    end
    lose(id, head, 'e')
  end
end
local flight = lease(id)
if flight then
  return { 'L', left, flight.value }
end
local stone = call('HGET', T, id)
if stone then
  return { 'T', left, stone }
end
return { '-', left }
