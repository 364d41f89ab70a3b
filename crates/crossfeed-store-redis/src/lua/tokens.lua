-- The tokens of all records of a session that have not ended.
confirm()
local tokens = {}
local heads = call('HGETALL', base .. 'h')
for i = 1, #heads, 2 do
  if heads[i] ~= '' then
    tokens[#tokens + 1] = string.match(heads[i + 1], '^%d+ (%x+)')
  end
end
local all = call('HGETALL', A)
for i = 1, #all, 2 do
  local r = all[i] ~= '' and read(all[i + 1])
  if r and not has_expired(r) then
    tokens[#tokens + 1] = r.token
  end
end
return { 'K', departed, tokens }
