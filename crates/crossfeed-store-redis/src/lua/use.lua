-- What scripts share that find results in use.

-- A write that changes nothing and takes no memory. A primary that was replaced refuses it where `min-replicas-to-write` is
-- set, instead of answering from the past. A server whose memory is full accepts all writes of a script after it.
local function confirm()
  call('HDEL', base .. 'm', '')
end

-- Counts a use. A server whose memory is full refuses `ZADD` as the first write of a script, though this one takes no
-- memory; then another write goes first.
local function touch(id, born, used)
  if math.floor(now / step) ~= math.floor(used / step) then
    local rest = math.min(time_to_live, born + max_age - now)
    if rest > 0 then
      call('PEXPIRE', base .. 'b:' .. id, math.ceil((rest + step) / 1000))
    end
  end
  local tick = next_in(U)
  if type(redis.pcall('ZADD', U, tick, id)) == 'table' then
    confirm()
    call('ZADD', U, tick, id)
  end
end

-- Whether the time of a result is over that was last used and recorded then.
local function is_over(used, born)
  return used + time_to_live <= now or born + max_age <= now
end

-- Whether the data of a record is there: a server that is short of memory may have dropped it.
local function is_whole(id, token, place)
  return place ~= 'k' or call('GETRANGE', base .. 'b:' .. id, 0, 15) == token
end
