-- Why there is none.
confirm()
if head then
  take_away(id, head, has_expired(id, read(head)) and 'x' or 'e')
end
local flight = lease(id)
if flight then
  return { 'L', departed, flight.value }
end
local stone = call('HGET', T, id)
if stone then
  return { 'T', departed, stone }
end
return { '-', departed }
