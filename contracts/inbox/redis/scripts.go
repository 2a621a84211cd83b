package redis

import goredis "github.com/redis/go-redis/v9"

// KEYS of every script: processed, event, aggregate. One may end halfway, where the user lacks a right: what it wrote until then
// is a claim that stands, or one whose lease is over. A Redis that is full lets a script write that has begun by taking away (ZREM).

// claimScript answers verdict, wait in ms, failing, failures, takeovers, and the errors.
// ARGV: token, lease in ms, keep in ms, replay, version as 20 digits, event ID, prefix of events.
var claimScript = goredis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function left(at) return string.format('%.0f', math.max(0, (tonumber(at) or 0) - now)) end
if redis.call('EXISTS', KEYS[1]) == 1 then return {'processed', '0', '0', '0', '0'} end
local e = redis.call('HMGET', KEYS[2], 'state', 'token', 'lease', 'next', 'failures', 'takeovers')
local state, failures, takeovers = e[1], tonumber(e[5]) or 0, tonumber(e[6]) or 0
local revived = false
if state == 'dead' then
	if ARGV[4] ~= '1' then return {'dead', '0', '0', tostring(failures), '0'} end
	state, failures, takeovers, revived = false, 0, 0, true
end
local function answer(verdict, wait, failing)
	local a = {verdict, wait, failing, tostring(failures), tostring(takeovers)}
	for n = math.max(1, failures - 9), failures do
		local kept = redis.call('HGET', KEYS[2], 'error' .. n)
		if kept then a[#a + 1] = kept end
	end
	return a
end
local function lease()
	redis.call('HSET', KEYS[2], 'lease', string.format('%.0f', now + ARGV[2]))
	redis.call('PEXPIRE', KEYS[2], ARGV[3])
	if redis.call('PTTL', KEYS[3]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[3], ARGV[3]) end
	return answer('claimed', '0', '0')
end
if state == 'claimed' and now < (tonumber(e[3]) or 0) then
	if e[2] == ARGV[1] then return lease() end
	return answer('busy', left(e[3]), '0')
end
if state == 'waiting' and now < (tonumber(e[4]) or 0) then return answer('early', left(e[4]), '0') end
-- A newer version's word, which was rolled back: the event may have been handled.
if state and state ~= 'claimed' and state ~= 'waiting' then return answer('busy', '0', '0') end
while true do
	local older = redis.call('ZRANGEBYLEX', KEYS[3], '-', '(' .. ARGV[5] .. ':', 'LIMIT', 0, 1)[1]
	if not older then break end
	local o = redis.call('HMGET', ARGV[7] .. string.sub(older, 22), 'state', 'lease', 'next')
	if o[1] == 'claimed' then return answer('behind', left(o[2]), '0') end
	if o[1] == 'waiting' then return answer('behind', left(o[3]), '1') end
	if o[1] and o[1] ~= 'dead' then return answer('behind', '0', '0') end
	redis.call('ZREM', KEYS[3], older)
end
if state == 'claimed' then takeovers = takeovers + 1 end
if revived then redis.call('DEL', KEYS[2]) end
local member = ARGV[5] .. ':' .. ARGV[6]
redis.call('HSET', KEYS[2], 'state', 'claimed', 'token', ARGV[1], 'takeovers', takeovers, 'aggregate', KEYS[3], 'member', member)
redis.call('ZADD', KEYS[3], 0, member)
return lease()
`)

// giveBackScript answers 1, or 0 where the claim is lost. ARGV: token, wait in ms, the
// error or "".
var giveBackScript = goredis.NewScript(`
local e = redis.call('HMGET', KEYS[2], 'state', 'token', 'failures')
if e[2] ~= ARGV[1] or e[1] == 'dead' then return 0 end
if e[1] == 'waiting' then return 1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[2], 'state', 'waiting', 'next', string.format('%.0f', now + ARGV[2]), 'takeovers', 0)
if ARGV[3] ~= '' then
	local failures = (tonumber(e[3]) or 0) + 1
	redis.call('HSET', KEYS[2], 'failures', failures, 'error' .. failures, ARGV[3])
	redis.call('HDEL', KEYS[2], 'error' .. (failures - 10))
end
return 1
`)

// settleScript answers 1, or 0 where the claim is lost. ARGV: token, end, ttl in ms.
var settleScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
local e = redis.call('HMGET', KEYS[2], 'state', 'token', 'aggregate', 'member')
if e[2] ~= ARGV[1] then return 0 end
if e[1] == 'dead' then return 1 end
if e[1] ~= 'claimed' then return 0 end
redis.call('ZREM', e[3], e[4])
if ARGV[2] == 'processed' then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
	redis.call('DEL', KEYS[2])
else
	redis.call('HSET', KEYS[2], 'state', 'dead')
	redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return 1
`)

// checkAndMarkScript answers 1 where the event was processed before, else 0, and the state where that is not known: then
// there is no mark. ARGV: token, ttl in ms. The client repeats what it heard no answer to: a mark of the same token
// is that one's own.
var checkAndMarkScript = goredis.NewScript(`
local e = redis.call('HMGET', KEYS[2], 'state', 'aggregate', 'member')
local known = not e[1] or e[1] == 'claimed' or e[1] == 'waiting' or e[1] == 'dead'
if not known and redis.call('EXISTS', KEYS[1]) == 0 then return {'0', e[1]} end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	if redis.call('GET', KEYS[1]) == ARGV[1] then return {'0', ''} end
	return {'1', ''}
end
if e[2] then
	redis.call('ZREM', e[2], e[3])
	redis.call('DEL', KEYS[2])
end
return {'0', ''}
`)
