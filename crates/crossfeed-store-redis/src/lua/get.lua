-- Why there is none.
confirm()
if head then
  lose(id, head, has_expired(id, read(head)) and 'x' or 'e')
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
