-- 6 class that goes first, or nothing, 7 `1` if repeatable calls go first, 8.. pins. Finds the result that goes next.
confirm()
read_pins(8)
tidy(mend())
local is_plain = ARGV[6] == '' and ARGV[7] == '0'
local last
for _, id in ipairs(call('ZRANGE', U, 0, -1)) do
  local head = call('HGET', H, id)
  local r = head and read(head)
  if r and pins[id] ~= r.token then
    local found = { id, r.token, call('ZSCORE', U, id), '1' }
    if is_plain or r.class == ARGV[6] or (ARGV[7] == '1' and r.class == 'r') then
      return { 'F', departed, found }
    end
    if not last then
      found[4] = '0'
      last = found
    end
  end
end
if last then
  return { 'F', departed, last }
end
return { '-', departed }
