import { Firestore } from '@google-cloud/firestore';
import { Outbox } from '../default.js';

const db = new Firestore();
const events = new Outbox(db);

export async function open(account: string, locale: string): Promise<boolean> {
  return db.runTransaction(async (tx) => {
    const [appended] = await events.append(tx, {
      type: 'AccountCreated',
      aggregateId: account,
      aggregateVersion: 1,
      payload: { accountId: account, locale },
    });
    if (!appended!.repeated) tx.create(db.doc(`accounts/${account}`), { locale, version: 1 });
    return !appended!.repeated;
  });
}
