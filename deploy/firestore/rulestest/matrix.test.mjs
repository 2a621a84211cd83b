// Every collection × every operation × every identity, against firestore.rules.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { below, clients, identities, listened, relays, rulesFile, seed, start, verdict } from './engine.mjs';

const signals = 'token-refresh-signals';
// Two that are not the relay's: nothing is allowed that a rule does not allow.
const collections = [...relays, ...below, 'accounts', 'of-nobody'];

// Those that run on a missing document come first; none of them may create it.
const onMissing = {
  'get one that is missing': (c) => c.doc('alice').get(),
  'listen to one that is missing': (c) => listened(c.doc('alice')),
  create: (c) => c.doc('alice').set({ accountId: 'alice', claimsVersion: 9 }),
  'create with an ID of its own': (c) => c.add({ accountId: 'alice', claimsVersion: 9 }),
};
const onPresent = {
  get: (c) => c.doc('alice').get(),
  listen: (c) => listened(c.doc('alice')),
  list: (c) => c.get(),
  'list one': (c) => c.limit(1).get(),
  'list by account': (c) => c.where('accountId', '==', 'alice').get(),
  'list by ID': (c) => c.where('__name__', '==', 'alice').get(),
  'list the group': (c) => c.firestore.collectionGroup(c.id).get(),
  update: (c) => c.doc('alice').update({ claimsVersion: 9 }),
  replace: (c) => c.doc('alice').set({ accountId: 'alice' }),
  delete: (c) => c.doc('alice').delete(),
};
const reads = ['get one that is missing', 'listen to one that is missing', 'get', 'listen'];

function expected(collection, operation, identity) {
  return collection === signals && reads.includes(operation) && identity.uid === 'alice' ? 'allow' : 'deny';
}

let env, as;
let cells = 0;
let allowed = 0;
before(async () => {
  env = await start('rules-matrix', rulesFile);
  as = clients(env);
});
after(async () => {
  await env?.cleanup();
  console.log(`matrix: ${cells} cells (${collections.length} collections × ` +
    `${Object.keys({ ...onMissing, ...onPresent }).length} operations × ${identities.length} identities), ` +
    `${allowed} allowed`);
});

for (const collection of collections) {
  test(collection, async () => {
    const wrong = [];
    // Each identity has a client of its own, which does one thing at a time.
    const run = (operations) => Promise.all(identities.map(async (identity) => {
      for (const [operation, ask] of Object.entries(operations)) {
        const got = await verdict(ask(as.get(identity.name).collection(collection)));
        const want = expected(collection, operation, identity);
        cells++;
        if (got === 'allow') allowed++;
        if (got !== want) wrong.push(`${operation} as ${identity.name}: ${got}, want ${want}`);
      }
    }));
    await run(onMissing);
    await seed(env, [[`${collection}/alice`, { accountId: 'alice', claimsVersion: 3 }]]);
    await run(onPresent);
    assert.deepEqual(wrong, []);
  });
}
