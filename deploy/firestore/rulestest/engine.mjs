// The rules engine of Google's Firestore emulator: loads rules, and tells for one
// client's operation whether they allow it.
import { readFile } from 'node:fs/promises';
import { initializeTestEnvironment } from '@firebase/rules-unit-testing';
import { setLogLevel } from 'firebase/app';

const here = (name) => new URL(name, import.meta.url);

export const rulesFile = await readFile(here('../firestore.rules'), 'utf8');
const readme = await readFile(here('../README.md'), 'utf8');
const code = JSON.parse(await readFile(here('../testdata/collections.json'), 'utf8'));

// The collections of the relay.
export const relays = [...code.outboxes, ...code.own];
// Those of the work queues: beneath the database, and beneath a condominium.
export const queues = code.queues;
export const tenants = code.tenants;
export const below = ['bulk-replays/b1/items', 'token-refresh-signals/alice/older'];

// Who asks. Each document of the matrix is called alice.
export const identities = [
  { name: 'nobody' },
  { name: 'the account itself', uid: 'alice' },
  { name: 'another account', uid: 'bob' },
  { name: 'an administrator', uid: 'carol', token: { roles: ['admin', 'platform-admin'], admin: true } },
  { name: 'an anonymous account', uid: 'dave', token: { provider_id: 'anonymous', firebase: { sign_in_provider: 'anonymous' } } },
];

// mergedRules are firestore.rules with the block of the README among its matches.
export function mergedRules() {
  const block = readme.match(/^```\n(match [^]*?|\/\/ [^]*?)^```$/m)?.[1];
  const last = '    match /{document=**} {';
  if (!block || !rulesFile.includes(last)) throw new Error('README.md holds no block, or firestore.rules no last match');
  return rulesFile.replace(last, `${block}\n${last}`);
}

// start loads rules into a project of their own, without documents. Its owner calls cleanup.
export async function start(projectId, rules) {
  const host = process.env.FIRESTORE_EMULATOR_HOST;
  if (!host) throw new Error('FIRESTORE_EMULATOR_HOST names no emulator; run .ci/rules-check');
  setLogLevel('silent'); // the client logs each refusal
  const at = host.lastIndexOf(':');
  const env = await initializeTestEnvironment({
    projectId,
    firestore: { rules, host: host.slice(0, at), port: Number(host.slice(at + 1)) },
  });
  await env.clearFirestore();
  return env;
}

// clients gives each identity one client of Firestore.
export function clients(env, who = identities) {
  return new Map(who.map(({ name, uid, token }) => {
    const context = uid === undefined ? env.unauthenticatedContext() : env.authenticatedContext(uid, token);
    return [name, context.firestore()];
  }));
}

// seed writes documents that no rule binds: [path, fields] each.
export const seed = (env, documents) =>
  env.withSecurityRulesDisabled(async (context) => {
    const db = context.firestore();
    await Promise.all(documents.map(([path, fields]) => db.doc(path).set(fields)));
  });

// listened ends with the server's first snapshot, or with its refusal. What the
// client knows by itself, from a write that is under way, does not count.
export const listened = (ref) =>
  new Promise((resolve, reject) => {
    const stop = ref.onSnapshot({ includeMetadataChanges: true }, (snapshot) => {
      if (snapshot.metadata.fromCache) return;
      stop();
      resolve(snapshot);
    }, reject);
  });

// verdict is allow or deny. Any other end of the operation is the test's failure.
export async function verdict(operation) {
  try {
    await operation;
    return 'allow';
  } catch (error) {
    if (error.code === 'permission-denied') return 'deny';
    throw error;
  }
}
