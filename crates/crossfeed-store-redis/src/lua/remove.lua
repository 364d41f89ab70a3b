-- 6 token of this request
if call('ZSCORE', D, ARGV[6]) then
  -- The same request again. What is here now was recorded since.
  confirm()
  return { 'K', departed }
end
local heads = call('HGETALL', H)
for i = 1, #heads, 2 do
  if heads[i] ~= '' then
    depart(heads[i], 'r', read(heads[i + 1]))
  end
end
local artifacts = call('HGETALL', base .. 'a')
for i = 1, #artifacts, 2 do
  if artifacts[i] ~= '' then
    local token, born, identity, place =
      string.match(artifacts[i + 1], '^%d+ (%x+) %d+ (%d+) %d+ (%S+) (%a)')
    if place and born + memory > now then
      remember(token)
    end
    if place == 'k' then
      call('UNLINK', base .. 'ab:' .. token)
    end
    if place then
      departed[#departed + 1] = table.concat({ 'a', place, token, identity }, ' ')
    end
  end
end
local flights = call('EXISTS', F)
call('DEL', H, U, X, M, T, Z, F, base .. 'w', base .. 'a', base .. 'at')
remember(ARGV[6])
if flights == 1 then
  wake()
end
return { 'K', departed }
