-- The tokens of all records of a session that have not ended.
confirm()
local tokens = {}
for _, head in ipairs(call('HVALS', base .. 'h')) do
  tokens[#tokens + 1] = string.match(head, '^%d+ (%x+)')
end
local all = call('HGETALL', A)
for i = 1, #all, 2 do
  local r = all[i] ~= '' and read(all[i + 1])
  if r and not has_expired(r) then
    tokens[#tokens + 1] = r.token
  end
end
return { 'K', departed, tokens }
