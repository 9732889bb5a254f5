"""What Redis does in one go: the scripts that run inside it.

An episode is one hash; `<a>` is the number of an attempt, `<n>` of a step, from 1:

    newest, oldest          numbers of the attempts that are kept; these have no gaps
    start:<a>               JSON
    steps:<a>               how many
    step:<a>:<n>            JSON
    end:<a>                 the reason, once there is one
    changed:<a>, touched:<a>
    request:<request id>    <a>:<n>, where it was answered; 0 stands for the reset
    asked:<a>:<n>           the request id that was answered there
    address:<address>       it was bound to the episode, and may be still

Beside the episodes there are three sorted sets of `<a>:<episode id>`: `open` by the last change or sign of life,
`over` by the last change, `created` by a number that counts them all. Times come and go as text, so they stay exact.
A value that may be missing is empty, or begins with `=`.
"""

from __future__ import annotations

_EPISODE = """
local open, over, created, counter, addresses, episode = unpack(KEYS)
local id = ARGV[1]

local function member(attempt)
  return attempt .. ':' .. id
end

local function record(attempt, steps)
  local head = redis.call('HMGET', episode, 'start:' .. attempt, 'end:' .. attempt, 'changed:' .. attempt,
    'touched:' .. attempt, 'steps:' .. attempt)
  if not head[1] then return false end
  local found = {tostring(attempt), head[1], head[2], head[3], head[4]}
  for step = 1, tonumber(steps or head[5]) do
    found[5 + step] = redis.call('HGET', episode, 'step:' .. attempt .. ':' .. step)
  end
  return found
end

local function answered(request)
  local place = request ~= '' and redis.call('HGET', episode, 'request:' .. request:sub(2))
  if not place then return false end
  local attempt, steps = place:match('^(%d+):(%d+)$')
  local found = record(attempt, steps)
  found[3] = false
  return found
end

local function answer(request, attempt, step)
  if request ~= '' then
    local place = attempt .. ':' .. step
    redis.call('HSET', episode, 'request:' .. request:sub(2), place, 'asked:' .. place, request:sub(2))
  end
end

local function close(attempt, changed)
  redis.call('ZREM', open, member(attempt))
  redis.call('ZADD', over, changed, member(attempt))
end

local function later(one, other)
  return other and tonumber(other) > tonumber(one) and other or one
end

local function follows(attempt, index)
  local head = redis.call('HMGET', episode, 'newest', 'steps:' .. attempt, 'end:' .. attempt)
  return head[1] == attempt and head[2] == index and not head[3]
end

local function extend(attempt, index, step, request, at, reason)
  local number = index + 1
  redis.call('HSET', episode, 'step:' .. attempt .. ':' .. number, step, 'steps:' .. attempt, number,
    'changed:' .. attempt, at)
  answer(request, attempt, number)
  if reason ~= '' then
    redis.call('HSET', episode, 'end:' .. attempt, reason:sub(2))
    close(attempt, at)
  else
    redis.call('ZADD', open, later(at, redis.call('HGET', episode, 'touched:' .. attempt)), member(attempt))
  end
end
"""

CREATE = f"""{_EPISODE}
local start, request, at = ARGV[2], ARGV[3], ARGV[4]
local earlier = answered(request)
if earlier then return {{'repeated', earlier}} end
local newest = redis.call('HGET', episode, 'newest')
local attempt = (newest or 0) + 1
redis.call('HSET', episode, 'newest', attempt, 'start:' .. attempt, start, 'steps:' .. attempt, 0,
  'changed:' .. attempt, at)
if not newest then
  redis.call('HSET', episode, 'oldest', attempt)
elseif redis.call('ZSCORE', open, member(newest)) then
  close(newest, redis.call('HGET', episode, 'changed:' .. newest))
end
answer(request, attempt, 0)
redis.call('ZADD', open, at, member(attempt))
redis.call('ZADD', created, redis.call('INCR', counter), member(attempt))
return {{'done', attempt}}
"""

APPEND = f"""{_EPISODE}
local attempt, index, step, request, at, reason = unpack(ARGV, 2)
local earlier = answered(request)
if earlier then return {{'repeated', earlier}} end
if not follows(attempt, index) then
  local newest = redis.call('HGET', episode, 'newest')
  return {{'conflict', newest and record(newest)}}
end
extend(attempt, index, step, request, at, reason)
return {{'done'}}
"""

# The same for many episodes, whose keys are the last ones; each has seven arguments.
APPEND_ALL = f"""{_EPISODE}
for number = 1, #ARGV / 7 do
  episode = KEYS[number + 5]
  local _, attempt, index, _, request = unpack(ARGV, 7 * number - 6, 7 * number)
  if answered(request) or not follows(attempt, index) then return 0 end
end
for number = 1, #ARGV / 7 do
  episode, id = KEYS[number + 5], ARGV[7 * number - 6]
  extend(unpack(ARGV, 7 * number - 5, 7 * number))
end
return 1
"""

GET = f"""{_EPISODE}
local newest = redis.call('HGET', episode, 'newest')
return newest and record(newest)
"""

RECORD = f"""{_EPISODE}
return record(ARGV[2])
"""

FIND = f"""{_EPISODE}
return answered(ARGV[2])
"""

# Where `before` is given, an attempt is only ended if it is open and was left alone since.
END = f"""{_EPISODE}
local attempt, reason, at, before = unpack(ARGV, 2)
local head = redis.call('HMGET', episode, 'start:' .. attempt, 'end:' .. attempt)
if not head[1] or head[2] then return 0 end
if before ~= '' then
  local life = redis.call('ZSCORE', open, member(attempt))
  if not life or tonumber(life) >= tonumber(before:sub(2)) then return 0 end
end
redis.call('HSET', episode, 'end:' .. attempt, reason, 'changed:' .. attempt, at)
close(attempt, at)
return 1
"""

TOUCH = f"""{_EPISODE}
local attempt, at = ARGV[2], ARGV[3]
local changed = redis.call('HGET', episode, 'changed:' .. attempt)
if changed then
  redis.call('HSET', episode, 'touched:' .. attempt, at)
  redis.call('ZADD', open, 'XX', later(changed, at), member(attempt))
end
"""

# Forgets what it may of an episode, the oldest attempt first: how many, and whether the attempt asked for is left.
PRUNE = f"""{_EPISODE}
local attempt, before = ARGV[2], ARGV[3]
local head = redis.call('HMGET', episode, 'oldest', 'newest')
local oldest, newest, pruned = tonumber(head[1] or 1), tonumber(head[2] or 0), 0
while oldest <= newest do
  local changed = redis.call('ZSCORE', over, member(oldest))
  if not changed or tonumber(changed) >= tonumber(before) then break end
  for step = 0, tonumber(redis.call('HGET', episode, 'steps:' .. oldest)) do
    local place = oldest .. ':' .. step
    local request = redis.call('HGET', episode, 'asked:' .. place)
    if request then redis.call('HDEL', episode, 'asked:' .. place, 'request:' .. request) end
    redis.call('HDEL', episode, 'step:' .. place)
  end
  redis.call('HDEL', episode, 'start:' .. oldest, 'steps:' .. oldest, 'end:' .. oldest, 'changed:' .. oldest,
    'touched:' .. oldest)
  redis.call('ZREM', over, member(oldest))
  redis.call('ZREM', created, member(oldest))
  oldest, pruned = oldest + 1, pruned + 1
end
if pruned > 0 and oldest <= newest then
  redis.call('HSET', episode, 'oldest', oldest)
elseif pruned > 0 then
  for _, field in ipairs(redis.call('HKEYS', episode)) do
    local bound = field:sub(1, 8) == 'address:' and redis.call('HGET', addresses, field:sub(9))
    if bound and bound:sub(bound:find(':') + 1) == id then redis.call('HDEL', addresses, field:sub(9)) end
  end
  redis.call('DEL', episode)
end
return {{pruned, redis.call('ZSCORE', over, member(attempt)) and 1 or 0}}
"""

BIND = f"""{_EPISODE}
local attempt, address = ARGV[2], ARGV[3]
local before = redis.call('HGET', addresses, address)
redis.call('HSET', addresses, address, member(attempt))
redis.call('HSET', episode, 'address:' .. address, '')
return before
"""

# Notes are a hash of `<time> <text>`, and a sorted set of their names alone, in which those with a prefix are a range.
SWAP = """
local notes, names = unpack(KEYS)
local name, old, new, at = unpack(ARGV)
local note = redis.call('HGET', notes, name)
local now = note and '=' .. note:sub(note:find(' ') + 1) or ''
if now ~= old then return 0 end
if new ~= '' then
  redis.call('HSET', notes, name, at .. ' ' .. new:sub(2))
  redis.call('ZADD', names, 0, name)
elseif note then
  redis.call('HDEL', notes, name)
  redis.call('ZREM', names, name)
end
return 1
"""

# Looks at the names from `first` on, but not at all of them: how many it dropped, and the last one it looked at.
FORGET = """
local notes, names = unpack(KEYS)
local first, last, before, limit = unpack(ARGV)
local found, dropped = redis.call('ZRANGEBYLEX', names, first, last, 'LIMIT', 0, limit), 0
for _, name in ipairs(found) do
  local note = redis.call('HGET', notes, name)
  if not note or tonumber(note:sub(1, note:find(' ') - 1)) < tonumber(before) then
    redis.call('HDEL', notes, name)
    redis.call('ZREM', names, name)
    dropped = dropped + 1
  end
end
return {dropped, found[#found] or false}
"""

ALL = (CREATE, APPEND, APPEND_ALL, GET, RECORD, FIND, END, TOUCH, PRUNE, BIND, SWAP, FORGET)
