// The work queues' collections × every operation × everybody, against firestore.rules.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import firebase from 'firebase/compat/app';
import { clients, listened, queues, rulesFile, seed, start, tenants, verdict } from './engine.mjs';

const now = () => firebase.firestore.FieldValue.serverTimestamp();
const condo = 'clients/c1/condominiums/d1';

// Ann has the message and the bell of the matrix.
const everybody = [
  { name: 'nobody' },
  { name: 'ann', uid: 'ann' },
  { name: 'a neighbour', uid: 'bea' },
  { name: 'one who is inactive', uid: 'gus' },
  { name: 'one of another condominium', uid: 'mia' },
  { name: 'one of another client', uid: 'eva' },
  { name: 'a stranger', uid: 'zoe' },
  { name: 'an anonymous account', uid: 'dave', token: { provider_id: 'anonymous', firebase: { sign_in_provider: 'anonymous' } } },
  { name: 'a platform administrator', uid: 'paula', token: { roles: ['viewer', 'platform-admin'] } },
  { name: 'a platform administrator of an organization', uid: 'piet', token: { roles: ['admin', 'platform-admin'], orgId: 'org-2' } },
  { name: 'an administrator of no organization', uid: 'carol', token: { roles: ['viewer', 'admin'] } },
  { name: 'an administrator whose organization is null', uid: 'nils', token: { roles: ['admin'], orgId: null } },
  { name: 'an administrator of several organizations', uid: 'lea', token: { roles: ['admin'], orgId: ['org-1', 'org-2'] } },
  { name: 'an administrator of the organization', uid: 'olga', token: { roles: ['admin'], orgId: 'org-1' } },
  { name: 'an administrator of another organization', uid: 'otto', token: { roles: ['admin'], orgId: 'org-2' } },
  { name: 'one whose role is another', uid: 'vera', token: { roles: ['viewer', 'administrator'], orgId: 'org-1' } },
  { name: 'one whose roles are a map', uid: 'max', token: { roles: { admin: true, 'platform-admin': true }, orgId: 'org-1' } },
  { name: 'one whose roles are no list', uid: 'tom', token: { roles: 'platform-admin', role: 'admin', admin: true, orgId: 'org-1' } },
];
const people = [
  [`${condo}/users/ann`, { role: 'admin' }],
  [`${condo}/users/bea`, { role: 'admin-assistant', active: true }],
  [`${condo}/users/gus`, { role: 'admin', active: false }],
  ['clients/c1/condominiums/d2/users/mia', { role: 'admin' }],
  ['clients/c2/condominiums/d1/users/eva', { role: 'admin' }],
];

const event = (uid, change = {}) => ({
  eventType: 'maintenance.ticket_created', module: 'maintenance', priority: 'medium', title: 'Nuevo ticket', body: 'Se registró',
  dedupeKey: 'maintenance:ticket:abc123:created', channels: ['in_app'], audience: { scope: 'admins_and_assistants', userIds: [] },
  entityId: 'abc123', entityType: 'ticket_maintenance', metadata: { floor: 3 }, createdAt: now(), createdBy: uid ?? 'ann',
  createdByName: 'Nombre', status: 'pending_dispatch', clientId: 'c1', condominiumId: 'd1', ...change,
});
const message = { orgId: 'org-1', recipientId: 'ann', title: 'New matter', body: 'Smith', read: false, readAt: null, eventId: 'e1' };
const bell = { title: 'Nuevo ticket', body: 'x', read: false, readAt: null, sourceEventId: 'e1', clientId: 'c1', condominiumId: 'd1' };

// What is in each collection, and who may do what there; nobody else anything.
const platform = ['a platform administrator', 'a platform administrator of an organization'];
const admins = [...platform, 'an administrator of the organization'];
const members = ['ann', 'a neighbour'];
const internal = { orgId: 'org-1', status: 'pending', jobType: 'notification_dispatch' };
const collections = {
  domain_events: {
    fields: internal,
    may: {
      get: admins, listen: admins, 'list its organization': admins,
      ...Object.fromEntries(['get one that is missing', 'list', 'list one', 'list its own', 'list what is unread'].map((o) => [o, platform])),
    },
  },
  in_app_messages: {
    fields: message,
    // A query for one's own messages is allowed to all, and finds ann's for ann alone.
    may: { get: ['ann'], listen: ['ann'], 'list its own': everybody.filter((e) => e.uid !== undefined).map((e) => e.name), 'mark as read': ['ann'] },
  },
  [`${condo}/notificationEvents`]: {
    fields: { ...event('ann', { status: 'emitted' }), attempts: 1 },
    may: { 'create an event': members },
  },
  [`${condo}/users/ann/notifications`]: {
    fields: bell,
    may: {
      get: ['ann'], listen: ['ann'], 'get one that is missing': ['ann'], list: ['ann'], 'list one': ['ann'], 'list what is unread': ['ann'],
      'list its own': ['ann'], 'list its organization': ['ann'], 'mark as read': ['ann'],
    },
  },
};
collections.outbox = collections.domain_events;
for (const name of tenants) collections[`${condo}/${name}`] ??= { fields: { dedupeKey: 'k', status: 'dispatched', recipients: ['ann'], role: 'admin' }, may: {} };

// The operations, those on a missing document first. Each is done by a client of uid on a collection.
const onMissing = {
  'get one that is missing': (c) => c.doc('no-such').get(),
  create: (c) => c.doc('new').set({ status: 'pending', orgId: 'org-1', recipientId: 'ann', read: false }),
  'create an event': (c, uid) => c.doc(`of-${uid ?? 'nobody'}`).set(event(uid)),
};
const onPresent = {
  get: (c) => c.doc('one').get(),
  listen: (c) => listened(c.doc('one')),
  list: (c) => c.get(),
  'list one': (c) => c.limit(1).get(),
  'list its organization': (c) => c.where('orgId', '==', 'org-1').get(),
  'list its own': (c, uid) => c.where('recipientId', '==', uid ?? 'ann').get(),
  'list what is unread': (c) => c.where('read', '==', false).get(),
  'list the group': (c) => c.firestore.collectionGroup(c.id).get(),
  'mark as read': (c) => c.doc('one').update({ read: true, readAt: now() }),
  'mark as read without a time': (c) => c.doc('one').update({ read: true }),
  'mark as read at another time': (c) => c.doc('one').update({ read: true, readAt: new Date(0) }),
  'mark as unread': (c) => c.doc('one').update({ read: false, readAt: now() }),
  'mark as read and change more': (c) => c.doc('one').update({ read: true, readAt: now(), title: 'other' }),
  update: (c) => c.doc('one').update({ status: 'pending_dispatch' }),
  replace: (c, uid) => c.doc('one').set(event(uid)),
  delete: (c) => c.doc('one').delete(),
};

let env, as;
let cells = 0;
let allowed = 0;
before(async () => {
  env = await start('rules-queues', rulesFile);
  as = clients(env, everybody);
});
after(async () => {
  await env?.cleanup();
  console.log(`queues: ${cells} cells (${Object.keys(collections).length} collections × ` +
    `${Object.keys({ ...onMissing, ...onPresent }).length} operations × ${everybody.length} identities), ${allowed} allowed`);
});

test('every collection of the work queues is in the table', () => {
  const below = tenants.map((name) => `${condo}/${name}`);
  assert.deepEqual([...queues, ...below].filter((c) => !collections[c]), []);
});

for (const [collection, { fields, may }] of Object.entries(collections)) {
  test(collection, async () => {
    const wrong = [];
    const run = (operations) => Promise.all(everybody.map(async ({ name, uid }) => {
      for (const [operation, ask] of Object.entries(operations)) {
        const got = await verdict(ask(as.get(name).collection(collection), uid));
        const want = (may[operation] ?? []).includes(name) ? 'allow' : 'deny';
        cells++;
        if (got === 'allow') allowed++;
        if (got !== want) wrong.push(`${operation} as ${name}: ${got}, want ${want}`);
      }
    }));
    await seed(env, people);
    await run(onMissing);
    await seed(env, [[`${collection}/one`, fields]]);
    await run(onPresent);
    assert.deepEqual(wrong, []);
  });
}

test('a job that names no organization is for platform administrators', async () => {
  for (const collection of ['domain_events', 'outbox']) {
    for (const [id, fields] of [['none', { status: 'pending' }], ['null', { status: 'pending', orgId: null }]]) {
      await seed(env, [[`${collection}/${id}`, fields]]);
      for (const { name } of everybody) {
        const want = platform.includes(name) ? 'allow' : 'deny';
        assert.equal(await verdict(as.get(name).doc(`${collection}/${id}`).get()), want, `${collection}/${id} as ${name}`);
      }
    }
  }
});

test('an event is refused that a front end may not create', async (t) => {
  await seed(env, people);
  const events = (name) => as.get(name).collection(`${condo}/notificationEvents`);
  const { dedupeKey, ...without } = event('ann');
  const cases = {
    'of another status': event('ann', { status: 'emitted' }),
    'that is processing': event('ann', { status: 'processing' }),
    'without a status': (({ status, ...rest }) => rest)(event('ann')),
    'of another client': event('ann', { clientId: 'c2' }),
    'of another condominium': event('ann', { condominiumId: 'd2' }),
    'without a tenant': (({ clientId, ...rest }) => rest)(event('ann')),
    'in the name of another': event('ann', { createdBy: 'bea' }),
    'in the name of nobody': event('ann', { createdBy: '' }),
    'dated by the client': event('ann', { createdAt: new Date(0) }),
    'over another channel': event('ann', { channels: ['in_app', 'email'] }),
    'over no channel': event('ann', { channels: [] }),
    'for another audience': event('ann', { audience: { scope: 'everybody' } }),
    'without an audience': (({ audience, ...rest }) => rest)(event('ann')),
    ...Object.fromEntries(['attempts', 'lockUntil', 'nextRetryAt', 'processedAt', 'lastError', 'lastErrorCode', 'workerId', 'queueId', 'other']
      .map((field) => [`with ${field}`, event('ann', { [field]: null })])),
  };
  for (const [name, fields] of Object.entries(cases)) {
    await t.test(name, async () => assert.equal(await verdict(events('ann').add(fields)), 'deny'));
  }
  const good = {
    'as the contract has it': event('ann'),
    'without a key': without,
    'for those that it names': event('ann', { audience: { scope: 'specific_users', userIds: ['bea'] } }),
    'with a trace': event('ann', { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }),
  };
  for (const [name, fields] of Object.entries(good)) {
    await t.test(name, async () => assert.equal(await verdict(events('ann').add(fields)), 'allow'));
  }
  await t.test('in another condominium', async () => {
    const other = as.get('ann').collection('clients/c1/condominiums/d2/notificationEvents');
    assert.equal(await verdict(other.add(event('ann', { condominiumId: 'd2' }))), 'deny');
  });
  await t.test('once it is there, by the same ID', async () => {
    await seed(env, [[`${condo}/notificationEvents/there`, event('ann')]]);
    assert.equal(await verdict(events('ann').doc('there').set(event('ann'))), 'deny');
  });
});

test('nobody makes itself a member', async () => {
  for (const [name, uid] of [['a stranger', 'zoe'], ['one who is inactive', 'gus'], ['ann', 'ann']]) {
    const own = as.get(name).doc(`${condo}/users/${uid}`);
    assert.equal(await verdict(own.set({ role: 'admin', active: true })), 'deny', name);
    assert.equal(await verdict(own.get()), 'deny', name);
  }
});

test('read twice is read', async () => {
  await seed(env, [...people, [`${condo}/users/ann/notifications/twice`, bell], ['in_app_messages/twice', message]]);
  for (const path of [`${condo}/users/ann/notifications/twice`, 'in_app_messages/twice']) {
    const doc = as.get('ann').doc(path);
    for (let n = 0; n < 2; n++) assert.equal(await verdict(doc.update({ read: true, readAt: now() })), 'allow', path);
    assert.equal(await verdict(doc.update({ read: false, readAt: null })), 'deny', path);
  }
});
