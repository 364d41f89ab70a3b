-- 6.. pins
confirm()
read_pins(6)
tidy(mend())
local lines = {}
local ids = call('ZRANGE', U, 0, -1)
for i = 1, #ids do
  local head = call('HGET', H, ids[i])
  if head then
    local line = string.find(head, '\n', 1, true)
    local json = line and string.find(head, '\n', line + 1, true)
    lines[#lines + 1] = ids[i]
    lines[#lines + 1] = json and string.sub(head, 1, json - 1) or head
  end
end
return { 'K', departed, lines }
