-- 2 name, 3 token at hand, 4 how many tombstones may stay
local name = ARGV[2]
confirm()
local head = call('HGET', A, name)
if head then
  local r = read(head)
  if has_expired(r) then
    expire(name, head)
    tidy(tonumber(ARGV[4]))
  elseif r.token == ARGV[3] then
    return { 'S', departed }
  elseif r.place ~= 'k' then
    return { 'F', departed, head }
  else
    local body = call('GET', base .. 'ab:' .. r.token)
    if not body then
      return { 'G', departed }
    end
    return { 'F', departed, head, body }
  end
end
local stone = call('HGET', AT, name)
if stone then
  return { 'T', departed, stone }
end
return { '-', departed }
