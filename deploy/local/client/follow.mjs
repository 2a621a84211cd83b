// The client's side of a change of rights. Custom claims stand in the ID token,
// and a token lives for an hour: a client that is told nothing goes on with the
// old ones for so long. The relay therefore writes a signal once new claims are
// set, and the client asks for a new token.
import { getIdTokenResult } from 'firebase/auth';
import { doc, onSnapshot } from 'firebase/firestore';

// Refresh tokens that are of no use any more. Only a new sign-in helps.
const signedOut = ['auth/user-token-expired', 'auth/user-disabled'];

// How many new tokens may lack the claims of the signal. Somebody else has
// overwritten them then; the next signal is asked for again.
const maxStale = 3;

// followClaims keeps user's ID token as new as the account's last signal, until
// the function that it returns is called. The new claims reach the application as
// every other token does, by onIdTokenChanged. All of these are optional:
//
//   onSignal(signal)     a signal was seen, whether it asks for a new token or not
//   onTrouble(error)     something failed and will be tried again
//   onSignedOut(error)   the account has to sign in again; nothing is followed any more
export function followClaims({ user, db, onSignal, onTrouble, onSignedOut }) {
  let stopped = false;
  let wanted = 0; // the highest claimsVersion of a signal
  let refreshing = false;
  let unlisten;

  function stop() {
    stopped = true;
    unlisten?.();
  }

  // The SDK reconnects by itself after a lost connection. What it reports as an
  // error has ended the listener: it takes a new one.
  function listen(failures) {
    if (stopped) return;
    unlisten = onSnapshot(doc(db, 'token-refresh-signals', signalID(user.uid)), (snapshot) => {
      failures = 0;
      if (snapshot.exists()) seen(snapshot.data());
    }, (error) => {
      onTrouble?.(error);
      setTimeout(listen, backoff(failures), failures + 1);
    });
  }

  function seen(signal) {
    onSignal?.(signal);
    wanted = Math.max(wanted, signal.claimsVersion);
    if (!refreshing) refresh();
  }

  // What the token carries decides, not which signals were seen before: so the
  // first snapshot tells of all that was missed, and a signal that is seen twice
  // asks for nothing. A signal that comes during a refresh waits for its end.
  async function refresh() {
    refreshing = true;
    for (let failures = 0, stale = 0; stale < maxStale && !stopped;) {
      try {
        if (version(await getIdTokenResult(user)) >= wanted) break;
        const asked = wanted;
        const got = version(await getIdTokenResult(user, true));
        if (got >= asked) continue;
        stale++;
        onTrouble?.(new Error(`the new token carries claims of version ${got}, the signal says ${asked}`));
      } catch (error) {
        if (signedOut.includes(error.code)) {
          stop();
          onSignedOut?.(error);
          break;
        }
        onTrouble?.(error);
      }
      await new Promise((resolve) => setTimeout(resolve, backoff(failures++)));
    }
    refreshing = false;
  }

  listen(0);
  return stop;
}

// version of the claims that a token carries; 0: the relay has set none yet.
export const version = (token) => token.claims.claimsVersion ?? 0;

// signalID is the document of an account's signal: its uid, with what Firestore
// does not take in an ID escaped.
export const signalID = (uid) => uid.replaceAll('%', '%25').replaceAll('/', '%2F');

// backoff doubles from a second to a minute, with half of it left to chance, so
// that clients which failed together do not come back together.
const backoff = (failures) => Math.min(60_000, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);
