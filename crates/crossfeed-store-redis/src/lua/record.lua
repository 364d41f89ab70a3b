-- Records a result whose id is free and for which there is room.
local milliseconds = math.max(math.ceil((math.min(time_to_live, max_age) + step) / 1000), 1)
if stage then
  call('RENAME', stage, body)
  call('PEXPIRE', body, milliseconds)
elseif ARGV[14] ~= '' then
  call('SET', body, ARGV[14], 'PX', milliseconds)
end
t.bytes, t.results = t.bytes + bytes, t.results + 1
if t.since + 0 > now then
  t.since = clock
end
local ending = is_ending(t)
call('HSET', H, '', write_totals(t), id,
  '1 ' .. token .. ' ' .. ARGV[8] .. ' ' .. clock .. ' ' .. class .. ' ' .. ARGV[10])
call('ZADD', U, next_in(U), id)
call('ZADD', X, clock, id)
call('HINCRBY', M, class, ARGV[8])
if ending then
  move_ends()
end
if call('HDEL', F, id) == 1 then
  wake()
end
return answer
