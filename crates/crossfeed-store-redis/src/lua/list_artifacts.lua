confirm()
local lines = {}
local all = call('HGETALL', A)
for i = 1, #all, 2 do
  if all[i] ~= '' then
    local r = read(all[i + 1])
    if not has_expired(r) then
      local is_whole = r.place ~= 'k' or call('EXISTS', base .. 'ab:' .. r.token) == 1
      lines[#lines + 1] = all[i]
      lines[#lines + 1] = all[i + 1]
      lines[#lines + 1] = is_whole and '1' or '0'
    end
  end
end
return { 'K', departed, lines }
