// What the README says of rules that are merged into a project's own: the relay's
// collections stay closed beside wildcards, and nobody writes rights of their own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { below, clients, identities, mergedRules, queues, relays, rulesFile, seed, start, tenants, verdict } from './engine.mjs';

const signedIn = identities.filter(({ uid }) => uid !== undefined);
const condo = 'clients/c1/condominiums/d1';
let env, as, alice;
before(async () => {
  env = await start('rules-merged', mergedRules());
  as = clients(env);
  alice = as.get('the account itself');
  await seed(env, [
    ...[...relays, ...below].map((c) => [`${c}/alice`, { accountId: 'alice', claimsVersion: 3 }]),
    ...queues.map((c) => [`${c}/one`, { orgId: 'org-1', recipientId: 'erin' }]),
    ...tenants.map((c) => [`${condo}/${c}/one`, { status: 'emitted' }]),
    [`${condo}/users/alice`, { role: 'admin' }],
    [`${condo}/users/bob`, { role: 'admin' }],
    [`${condo}/users/bob/notifications/n1`, { title: 'x', read: false }],
    [`${condo}/tickets/t1`, { text: 'hello' }],
    ['posts/p1', { text: 'hello' }],
    ['posts/p1/comments/c1', { text: 'hello' }],
    ['accounts/bob', { name: 'Bob', roles: ['viewer'] }],
  ]);
});
after(() => env?.cleanup());

test('the relay\'s collections stay closed beside the wildcard of a project', async () => {
  const wrong = [];
  let cells = 0;
  await Promise.all(identities.map(async ({ name, uid }) => {
    for (const collection of [...relays, ...below]) {
      const c = as.get(name).collection(collection);
      const asks = { get: () => c.doc('alice').get(), list: () => c.get(), create: () => c.add({ accountId: uid ?? null }) };
      for (const [operation, ask] of Object.entries(asks)) {
        const got = await verdict(ask());
        const want = collection === 'token-refresh-signals' && operation === 'get' && uid === 'alice' ? 'allow' : 'deny';
        cells++;
        if (got !== want) wrong.push(`${collection}: ${operation} as ${name}: ${got}, want ${want}`);
      }
    }
  }));
  assert.deepEqual(wrong, []);
  console.log(`merged: ${cells} cells`);
});

test('nor do those wildcards open the work queues', async () => {
  const wrong = [];
  let cells = 0;
  await Promise.all(identities.map(async ({ name, token }) => {
    const admin = token?.roles?.includes('platform-admin');
    const member = ['the account itself', 'another account'].includes(name);
    const paths = [...queues.map((c) => `${c}/one`), ...tenants.map((c) => `${condo}/${c}/one`), `${condo}/users/bob/notifications/n1`];
    for (const path of paths) {
      const doc = as.get(name).doc(path);
      const asks = { get: () => doc.get(), list: () => doc.parent.get(), create: () => doc.parent.add({ status: 'pending' }), update: () => doc.update({ status: 'x' }) };
      for (const [operation, ask] of Object.entries(asks)) {
        const got = await verdict(ask());
        const reads = operation === 'get' || operation === 'list';
        const may = reads && (admin && /^(domain_events|outbox)\//.test(path) || member && path === `${condo}/users/one` || name === 'another account' && path.endsWith('/n1'));
        cells++;
        if (got !== (may ? 'allow' : 'deny')) wrong.push(`${path}: ${operation} as ${name}: ${got}`);
      }
    }
    assert.equal(await verdict(as.get(name).doc(`${condo}/tickets/t1`).get()), member ? 'allow' : 'deny', name);
  }));
  assert.deepEqual(wrong, []);
  console.log(`merged with the work queues: ${cells} cells`);
});

test('the project\'s own collections are as open as it wants', async () => {
  for (const { name, uid } of identities) {
    const db = as.get(name), want = uid === undefined ? 'deny' : 'allow';
    assert.equal(await verdict(db.doc('posts/p1').get()), want, name);
    assert.equal(await verdict(db.collectionGroup('comments').get()), want, name);
    assert.equal(await verdict(db.collectionGroup('items').get()), 'deny', name);
  }
});

test('an account writes its own document, but no right', async (t) => {
  const rights = { role: 'admin', roles: ['admin'], policies: ['all'], aggregateVersion: 99, version: 99 };
  const own = alice.doc('accounts/alice');
  for (const [field, value] of Object.entries(rights)) {
    await t.test(`not created with ${field}`, async () => assert.equal(await verdict(own.set({ [field]: value })), 'deny'));
  }
  await t.test('created without one', async () => assert.equal(await verdict(own.set({ name: 'Alice' })), 'allow'));
  await t.test('updated', async () => assert.equal(await verdict(own.update({ name: 'Alice B.' })), 'allow'));
  for (const [field, value] of Object.entries(rights)) {
    await t.test(`${field} is not added`, async () => assert.equal(await verdict(own.update({ [field]: value })), 'deny'));
  }
  await seed(env, [['accounts/alice', { name: 'Alice', ...rights }]]);
  for (const field of Object.keys(rights)) {
    await t.test(`${field} is not changed`, async () => assert.equal(await verdict(own.update({ [field]: 'other' })), 'deny'));
  }
  await t.test('nor are all dropped', async () => assert.equal(await verdict(own.set({ name: 'Alice' })), 'deny'));
  await t.test('updated beside rights', async () => assert.equal(await verdict(own.update({ name: 'A.' })), 'allow'));
  for (const { name, uid } of signedIn.filter(({ uid }) => uid !== 'alice')) {
    await t.test(`not by ${name} (${uid})`, async () => assert.equal(await verdict(as.get(name).doc('accounts/alice').update({ name: 'X' })), 'deny'));
  }
});

test('an account whose uid needs escapes reads its own signal alone', async () => {
  const plain = await start('rules-escapes', rulesFile);
  try {
    const uids = ['a/b', 'a%2Fb', 'a%b', 'a/b/c', '__x__'];
    const docs = { 'a/b': 'a%2Fb', 'a%2Fb': 'a%252Fb', 'a%b': 'a%25b', 'a/b/c': 'a%2Fb%2Fc' };
    const db = clients(plain, uids.map((uid) => ({ name: uid, uid })));
    for (const uid of uids) {
      for (const doc of [...Object.values(docs), '%5F_x__']) {
        const want = docs[uid] === doc ? 'allow' : 'deny';
        assert.equal(await verdict(db.get(uid).collection('token-refresh-signals').doc(doc).get()), want, `${doc} as ${uid}`);
      }
    }
  } finally {
    await plain.cleanup();
  }
});
