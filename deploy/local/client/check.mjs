// Holds the client and the relay together to what a user sees: a change of rights
// that is appended to the outbox stands in the client's token soon after, also
// when the client was away, cut off, or overrun. The relay is the real program,
// which this starts. FIRESTORE_EMULATOR_HOST, PUBSUB_EMULATOR_HOST and
// FIREBASE_AUTH_EMULATOR_HOST name the cloud. RULES names security rules to load
// first, where Firestore's emulator takes them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setLogLevel } from 'firebase/app';
import { getIdTokenResult, onIdTokenChanged, signInWithEmailAndPassword } from 'firebase/auth';
import { doc, getDoc } from 'firebase/firestore';
import { loadRules, openBackend } from './backend.mjs';
import { followClaims, version } from './follow.mjs';
import { open, options } from './firebase.mjs';
import { openProxy } from './proxy.mjs';
import { startRelay } from './relay.mjs';

// In ms, for each check. It takes a few seconds at most, unless a listener of the
// emulator goes silent, which the relay finds within 30 s.
const bound = 120_000;
setLogLevel('silent'); // the SDK logs the cuts that are made on purpose

const settings = options({ GOOGLE_CLOUD_PROJECT: 'demo-client', ...process.env });
if (!settings.firestore || !settings.auth) {
  console.error('FIRESTORE_EMULATOR_HOST and FIREBASE_AUTH_EMULATOR_HOST name no cloud; run .ci/client-check');
  process.exit(2);
}
const rules = process.env.RULES && await readFile(process.env.RULES, 'utf8');
if (rules) await loadRules(settings, rules);
const backend = openBackend(settings);
const relay = await startRelay(settings.projectId);
let failed = 0;

// Each check has an account and a client of its own, with wires that can be cut.
async function check(name, run) {
  const uid = `${name.replace(/\W+/g, '-')}-${Date.now()}`;
  const login = { email: `${uid}@example.com`.toLowerCase(), password: 'not-a-secret' };
  const firestore = await openProxy(settings.firestore), auth = await openProxy(settings.auth);
  const client = open({ ...settings, firestore: firestore.address, auth: auth.address, name: uid });
  const session = { uid, client, firestore, auth, events: [], stops: [] };
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`took longer than ${bound} ms`)), bound); });
  try {
    await backend.createUser(uid, login);
    await backend.setClaims(uid, { tenant: 'blue' });
    session.user = (await signInWithEmailAndPassword(client.auth, login.email, login.password)).user;
    await Promise.race([run(session), late]);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.stack}\n      seen: ${session.events.map(brief).join(', ')}`);
  } finally {
    clearTimeout(timer);
    session.stops.forEach((stop) => stop());
    await client.close();
    await Promise.all([firestore.close(), auth.close()]);
  }
}

// follow starts the client's part, and notes what it sees and when.
function follow(session) {
  const note = (what, data) => session.events.push({ what, at: performance.now(), ...data });
  session.stops.push(
    onIdTokenChanged(session.client.auth, async (user) => user && note('token', { claims: (await getIdTokenResult(user)).claims })),
    followClaims({
      user: session.user, db: session.client.db,
      onSignal: ({ claimsVersion }) => note('signal', { claimsVersion }),
      onTrouble: (error) => note('trouble', { error: error.code ?? error.message }),
      onSignedOut: (error) => note('signedOut', { error: error.code }),
    }));
}

// until polls each so many ms until the answer is truthy. The bound of the check ends it.
async function until(ask, pause = 2) {
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// signalled waits for an account's signal. Each look opens and ends a query of the
// backend's stream: where hundreds came in a second, Google's emulator was seen to leave
// one without an answer, and the look did not end.
const signalled = (session, atLeast = 1) => until(async () => (await backend.signal(session.uid))?.claimsVersion >= atLeast, 50);

const seen = (session, what, is = () => true) => until(() => session.events.find((e) => e.what === what && is(e)));
const tokenOf = (session, atLeast) => seen(session, 'token', (e) => version(e) >= atLeast);
const brief = (e) => `${e.what} ${e.error ?? e.claimsVersion ?? version(e)}`;
const count = (session, what) => session.events.filter((e) => e.what === what).length;
const rights = ({ roles, policies, tenant }) => ({ roles, policies, tenant });

await check('a change of roles reaches the token', async (s) => {
  follow(s);
  await tokenOf(s, 0);
  for (const [v, roles] of [[1, ['viewer']], [2, ['editor', 'viewer']]]) {
    const began = performance.now(), steps = [['append begins', began]];
    const record = await backend.append('RoleChanged', s.uid, v, { roles });
    steps.push(['append acknowledged', performance.now()]);
    const set = until(async () => (await backend.claims(s.uid)).claimsVersion >= v && performance.now());
    const signal = await seen(s, 'signal', (e) => e.claimsVersion >= v), token = await tokenOf(s, v);
    // A look that takes its time sees the claims late; the signal proves them, too.
    steps.push(['claims set', Math.min(await set, signal.at)], ['signal seen', signal.at], ['token refreshed, new claims', token.at]);
    assert.deepEqual(rights(token.claims), { roles, policies: undefined, tenant: 'blue' });
    const document = (await getDoc(doc(s.client.db, 'token-refresh-signals', s.uid))).data();
    assert.deepEqual(Object.keys(document).sort(), ['accountId', 'claimsVersion', 'eventId', 'issuedAt', 'traceId', 'triggeredBy']);
    assert.equal(document.eventId, record.eventId);
    assert.equal(document.traceId, record.traceId);
    console.log(`      ${v === 1 ? 'first change' : 'second change'}, ms: ` +
      steps.map(([name, at]) => `${name} ${(at - began).toFixed(1)}`).join(', '));
  }
  assert.equal(count(s, 'trouble'), 0);
});

await check('roles and policies change apart, and what is taken away is gone', async (s) => {
  follow(s);
  await backend.append('RoleChanged', s.uid, 1, { roles: ['admin', 'viewer'] });
  await backend.append('PolicyChanged', s.uid, 2, { policies: ['export'] });
  const both = await seen(s, 'token', (e) => e.claims.policies && e.claims.roles);
  assert.deepEqual(rights(both.claims), { roles: ['admin', 'viewer'], policies: ['export'], tenant: 'blue' });
  await backend.append('RoleChanged', s.uid, 3, { roles: ['viewer'] });
  const less = await seen(s, 'token', (e) => e.claims.roles?.length === 1);
  assert.deepEqual(rights(less.claims), { roles: ['viewer'], policies: ['export'], tenant: 'blue' });
});

await check('a change that was missed is made up for by the first snapshot', async (s) => {
  await backend.append('RoleChanged', s.uid, 1, { roles: ['editor'] });
  await signalled(s);
  assert.equal(version(await getIdTokenResult(s.user)), 0, 'the client signed in before');
  follow(s);
  assert.deepEqual((await tokenOf(s, 1)).claims.roles, ['editor']);
});

await check('a signal that the token is up to date with asks for nothing', async (s) => {
  await backend.append('RoleChanged', s.uid, 1, { roles: ['editor'] });
  await signalled(s);
  const current = await getIdTokenResult(s.user, true);
  follow(s);
  await seen(s, 'signal');
  // Whatever it wrongly asked for would have come before the next change's token.
  await backend.append('RoleChanged', s.uid, 2, { roles: ['viewer'] });
  await tokenOf(s, 2);
  const tokens = s.events.filter((e) => e.what === 'token').map((e) => version(e));
  assert.deepEqual(tokens, [version(current), 2]);
});

await check('ten changes at once end on the last', async (s) => {
  follow(s);
  for (let v = 1; v <= 10; v++) await backend.append('RoleChanged', s.uid, v, { roles: [`role-${v}`] });
  const last = await seen(s, 'token', (e) => e.claims.roles?.[0] === 'role-10');
  assert.equal(version(last), 10);
  const refreshes = count(s, 'token') - 1;
  assert.ok(refreshes <= 10, `${refreshes} tokens for 10 changes`);
});

await check('a change while Firestore is cut off is seen after it is back', async (s) => {
  follow(s);
  await backend.append('RoleChanged', s.uid, 1, { roles: ['viewer'] });
  await tokenOf(s, 1);
  s.firestore.cut();
  await backend.append('RoleChanged', s.uid, 2, { roles: ['editor'] });
  await signalled(s, 2);
  assert.equal(s.events.some((e) => e.what === 'signal' && e.claimsVersion >= 2), false, 'the wire is cut');
  s.firestore.mend();
  assert.deepEqual((await tokenOf(s, 2)).claims.roles, ['editor']);
});

await check('a new token is asked for again while Auth cannot be reached', async (s) => {
  follow(s);
  await tokenOf(s, 0);
  s.auth.cut();
  await backend.append('RoleChanged', s.uid, 1, { roles: ['editor'] });
  assert.equal((await seen(s, 'trouble')).error, 'auth/network-request-failed');
  s.auth.mend();
  assert.deepEqual((await tokenOf(s, 1)).claims.roles, ['editor']);
});

await check('claims that somebody else overwrites are asked for again', async (s) => {
  await backend.append('RoleChanged', s.uid, 1, { roles: ['viewer'] });
  await signalled(s);
  const claims = await backend.claims(s.uid);
  await backend.setClaims(s.uid, { tenant: 'red' });
  follow(s);
  assert.match((await seen(s, 'trouble')).error, /version 0, the signal says 1/);
  await backend.setClaims(s.uid, claims);
  await tokenOf(s, 1);
  await backend.setClaims(s.uid, { tenant: 'red' });
  await backend.append('PolicyChanged', s.uid, 2, { policies: ['export'] });
  assert.deepEqual(rights((await tokenOf(s, 2)).claims), { roles: ['viewer'], policies: ['export'], tenant: 'red' });
});

await check('an account that was disabled is signed out, and follows nothing more', async (s) => {
  follow(s);
  await tokenOf(s, 0);
  await backend.disable(s.uid);
  await backend.append('RoleChanged', s.uid, 1, { roles: ['viewer'] });
  assert.equal((await seen(s, 'signedOut')).error, 'auth/user-disabled');
  assert.equal(s.client.auth.currentUser, null);
});

if (rules) {
  await check('a listener that was refused is taken again', async (s) => {
    await loadRules(settings, 'service cloud.firestore { match /nothing/{id} { allow read: if false; } }');
    try {
      follow(s);
      assert.equal((await seen(s, 'trouble')).error, 'permission-denied');
    } finally {
      await loadRules(settings, rules);
    }
    await backend.append('RoleChanged', s.uid, 1, { roles: ['viewer'] });
    await tokenOf(s, 1);
  });
  await check('the rules let a client read its own signal alone', async (s) => {
    const read = (path) => getDoc(doc(s.client.db, path)).then(() => 'allow', (error) => error.code);
    assert.equal(await read(`token-refresh-signals/${s.uid}`), 'allow');
    assert.equal(await read('token-refresh-signals/somebody-else'), 'permission-denied');
    assert.equal(await read(`claims-snapshots/${s.uid}`), 'permission-denied');
  });
}

await relay.stop();
await backend.close();
if (failed) console.log(relay.log.filter((line) => /"severity":"(WARNING|ERROR)"/.test(line)).slice(-20).join('\n'));
console.log(failed ? `${failed} checks failed` : 'all checks passed');
process.exit(failed ? 1 : 0);
