-- 6 call, 7 token at hand, 8 `1` if the asking process uses it, 9 `1` if its data may have gone. Most requests end here.
local id = ARGV[6]
local head = call('HGET', H, id)
if head then
  local token, born, place = string.match(head, '^%d+ (%x+) %d+ (%d+) %S+ %S+ (%a)')
  local score = call('ZSCORE', U, id)
  local used = tonumber(score or born or now)
  -- A header that cannot be read is given as it is: the caller says so.
  born = tonumber(born) or used
  local is_same = token == ARGV[7]
  if not is_over(used, born) or (is_same and ARGV[8] == '1') then
    if is_same or ARGV[9] == '0' or is_whole(id, token, place) then
      touch(id, born, used)
      if not score then
        -- The server had dropped this table. What else it held is put back by the next script that counts.
        call('PEXPIRE', U, keep)
        call('HDEL', H, '')
      end
      return is_same and 'S' or { 'F', {}, head }
    end
  end
end
