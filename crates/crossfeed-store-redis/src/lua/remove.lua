local heads = call('HVALS', H)
for i = 1, #heads do
  leave('r', read(heads[i]))
end
local artifacts = call('HGETALL', base .. 'a')
for i = 1, #artifacts, 2 do
  if artifacts[i] ~= '' then
    local token, identity, place = string.match(artifacts[i + 1], '^%d+ (%x+) %d+ %d+ %d+ (%S+) (%a)')
    if place == 'k' then
      call('UNLINK', base .. 'ab:' .. token)
    end
    left[#left + 1] = table.concat({ 'a', '-', 0, place, token, identity }, ' ')
  end
end
local flights = call('EXISTS', F)
call('DEL', H, U, X, M, T, Z, F, base .. 'w', base .. 'a', base .. 'at')
if flights == 1 then
  wake()
end
return { 'K', left }
