-- The id is taken, or room is to be made.
read_pins(16)
local identity, place, length = string.match(ARGV[10], '^(%S+) (%a) (%d+)')

-- An answer for which nothing is recorded.
local function refuse(why, token, place)
  confirm()
  if stage then
    call('UNLINK', stage)
  end
  return { why, departed, token, place }
end

-- Whether the record that has the id is the same: `U`, a duplicate `D`, or one to be compared in the other place, `M`. Data
-- that lies here is compared with what was sent, in pieces: what a script reads is copied, and stays until it is collected.
local function compare(head, r)
  local its_length = string.match(head, '^%d+ %x+ %d+ %d+ %S+ %S+ %a (%d+)')
  if its_length ~= length or string.sub(r.identity, 1, 2) ~= string.sub(identity, 1, 2) then
    return 'D'
  end
  if r.place ~= place then
    return 'M'
  end
  if place ~= 'k' then
    return r.identity == identity and 'U' or 'D'
  end
  if not stage then
    return call('GETRANGE', body, 16, -1) == string.sub(ARGV[14], 17) and 'U' or 'D'
  end
  if call('EXISTS', stage) == 0 then
    return 'A'
  end
  for from = 16, length + 15, 65536 do
    if call('GETRANGE', body, from, from + 65535) ~= call('GETRANGE', stage, from, from + 65535) then
      return 'D'
    end
  end
  return 'U'
end

tidy(mend())
local head = call('HGET', H, id)
if head then
  local r = read(head)
  if r.token == token then
    -- The same request again, whose answer was lost. A write, for replicas to confirm that they have come this far.
    confirm()
    call('HSET', H, id, head)
    return refuse('N')
  end
  if r.is_damaged then
    return refuse('G')
  end
  if is_whole(id, r.token, r.place) then
    local found = compare(head, r)
    if found ~= 'U' then
      return refuse(found)
    end
    touch(id, r.born, tonumber(call('ZSCORE', U, id) or r.born))
    return refuse('U', r.token, r.place)
  end
  take_away(id, head, 'e')
end
if call('ZSCORE', D, token) then
  -- The same request again; what it recorded has gone since.
  return refuse('N')
end
if ARGV[15] == '1' then
  confirm()
  return { 'V', departed }
end
if stage and call('EXISTS', stage) == 0 then
  return refuse('A')
end

-- What must go is found first, so that nothing goes in vain, but for damaged ones: without them it is known what is held.
local sums, held, count
local victims = {}
local function leave_out(r)
  held = held - r.bytes
  count = count - 1
  sums[r.class] = sums[r.class] and sums[r.class] - r.bytes
end
local function sum_up()
  t = totals()
  sums, held, count = {}, t.bytes, t.results
  local all = call('HGETALL', M)
  for i = 1, #all, 2 do
    sums[all[i]] = tonumber(all[i + 1])
  end
  for _, r in ipairs(victims) do
    leave_out(r)
  end
end
sum_up()
local function lacks_room()
  return held + bytes > max_bytes or count + 1 > max_results
end
if lacks_room() then
  local entries, done = {}, false
  -- The results, the least recently used first.
  local function entry(i)
    if i > #entries and not done then
      local ids = call('ZRANGE', U, #entries, #entries + 63)
      done = #ids == 0
      local heads = not done and call('HMGET', H, unpack(ids)) or {}
      local is_stale = false
      for j, name in ipairs(ids) do
        local r = heads[j] and read(heads[j])
        if r and r.is_damaged then
          take_away(name, heads[j], 'e')
          is_stale = true
        else
          if r then
            r.id, r.head = name, heads[j]
            r.taken = pins[name] == r.token
          end
          entries[#entries + 1] = r or { taken = true }
        end
      end
      if is_stale then
        sum_up()
        -- All of these may have been damaged.
        return entry(i)
      end
    end
    return entries[i]
  end
  local first = 1
  while lacks_room() do
    local heavy
    for name, sum in pairs(sums) do
      if string.sub(name, 1, 1) == 's' and sum > held - sum then
        heavy = name
      end
    end
    local is_plain = not heavy and (sums['r'] or 0) == 0
    local pick, last, i = nil, nil, first
    local r = entry(i)
    while r and not pick and lacks_room() do
      if not r.taken then
        if is_plain or r.class == 'r' or r.class == heavy then
          pick = r
        end
        last = last or r
      elseif i == first then
        first = first + 1
      end
      i = i + 1
      r = entry(i)
    end
    pick = pick or last
    if not lacks_room() then
      break
    elseif not pick then
      return refuse(held + bytes > max_bytes and 'B' or 'C')
    end
    pick.taken = true
    victims[#victims + 1] = pick
    leave_out(pick)
  end
end
for _, r in ipairs(victims) do
  take_away(r.id, r.head, 'e')
end

forget_tombstone(id)
t = totals()
answer = { 'N', departed }
