// What stands behind a client in a check: a producer that appends events, and the
// administrator of the accounts. Both are on an emulator, whose administrator is
// who says "owner".
import { randomUUID } from 'node:crypto';
import { doc, getDocFromServer, runTransaction, serverTimestamp } from 'firebase/firestore';
import { signalID } from './follow.mjs';
import { open } from './firebase.mjs';

export function openBackend({ projectId, firestore, auth }) {
  const { db, close } = open({ projectId, firestore, name: 'backend', mockUserToken: 'owner' });
  const accounts = (method, body) => post(`http://${auth}/identitytoolkit.googleapis.com/v1/projects/${projectId}/accounts${method}`, body);
  return {
    close,
    // A transaction, as a producer's append is: one commit, with what it writes of its own.
    append(eventType, accountId, aggregateVersion, payload) {
      const eventId = randomUUID(), idempotencyKey = `${eventId}:${accountId}:${aggregateVersion}`;
      const record = {
        eventId, eventType, eventVersion: 1, aggregateType: 'account', aggregateId: accountId, aggregateVersion,
        idempotencyKey, traceId: `trace-${eventId}`, lane: 'CRITICAL_LANE', dlqTier: 'SECURITY_BLOCK',
        occurredAt: new Date(), createdAt: serverTimestamp(), status: 'pending', payload,
      };
      return runTransaction(db, async (tx) => {
        tx.set(doc(db, 'accOutbox', idempotencyKey.replaceAll('%', '%25').replaceAll('/', '%2F')), record);
        return record;
      });
    },
    signal: async (accountId) => (await getDocFromServer(doc(db, 'token-refresh-signals', signalID(accountId)))).data(),
    createUser: (uid, { email, password }) => accounts('', { localId: uid, email, password }),
    setClaims: (uid, claims) => accounts(':update', { localId: uid, customAttributes: JSON.stringify(claims) }),
    disable: (uid) => accounts(':update', { localId: uid, disableUser: true }),
    async claims(uid) {
      const { users } = await accounts(':lookup', { localId: [uid] });
      return JSON.parse(users[0].customAttributes ?? '{}');
    },
  };
}

// loadRules gives an emulator of Firestore its security rules.
export async function loadRules({ firestore, projectId }, content) {
  await call('PUT', `http://${firestore}/emulator/v1/projects/${projectId}:securityRules`,
    { rules: { files: [{ name: 'firestore.rules', content }] } });
}

const post = (url, body) => call('POST', url, body);

async function call(method, url, body) {
  const answer = await fetch(url, {
    method, body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer owner' },
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
