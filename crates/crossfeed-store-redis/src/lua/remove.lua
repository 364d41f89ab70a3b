local heads = call('HGETALL', H)
for i = 1, #heads, 2 do
  leave(heads[i], 'r', read(heads[i + 1]))
end
local artifacts = call('HGETALL', base .. 'a')
for i = 1, #artifacts, 2 do
  if artifacts[i] ~= '' then
    local token, identity, place = string.match(artifacts[i + 1], '^%d+ (%x+) %d+ %d+ %d+ (%S+) (%a)')
    if place == 'k' then
      call('UNLINK', base .. 'ab:' .. token)
    end
    left[#left + 1] = table.concat({ 'a', place, token, identity }, ' ')
  end
end
local flights = call('EXISTS', F)
call('DEL', H, U, X, M, T, Z, F, base .. 'w', base .. 'a', base .. 'at')
if flights == 1 then
  wake()
end
return { 'K', left }
