// Signs an account in, and prints its claims whenever they change.
//
//   GOOGLE_CLOUD_PROJECT=P CUSTOM_TOKEN=... node client.mjs
//   GOOGLE_CLOUD_PROJECT=P EMAIL=... PASSWORD=... node client.mjs
//   GOOGLE_CLOUD_PROJECT=P ACCOUNT=uid node client.mjs        on an emulator alone
//
// FIRESTORE_EMULATOR_HOST and FIREBASE_AUTH_EMULATOR_HOST lead to emulators;
// without them FIREBASE_API_KEY is the web application's key. Ctrl-C ends it.
import { getIdTokenResult, onIdTokenChanged, signInWithCustomToken, signInWithEmailAndPassword } from 'firebase/auth';
import { followClaims, version } from './follow.mjs';
import { open, options } from './firebase.mjs';

const settings = options();
const { db, auth, close } = open(settings);
const say = (what) => console.log(`${new Date().toISOString()}  ${what}`);

function signIn() {
  const { EMAIL, PASSWORD, CUSTOM_TOKEN, ACCOUNT } = process.env;
  if (EMAIL) return signInWithEmailAndPassword(auth, EMAIL, PASSWORD);
  if (CUSTOM_TOKEN) return signInWithCustomToken(auth, CUSTOM_TOKEN);
  // Emulators take a custom token that nobody signed.
  if (ACCOUNT && settings.auth) return signInWithCustomToken(auth, JSON.stringify({ uid: ACCOUNT }));
  throw new Error('nobody to sign in: set CUSTOM_TOKEN, or EMAIL and PASSWORD, or with an emulator of Auth ACCOUNT');
}

// The claims that every token has, and that say nothing about rights.
const standard = ['iss', 'aud', 'auth_time', 'user_id', 'sub', 'iat', 'exp', 'email', 'email_verified', 'firebase', 'name', 'picture', 'provider_id'];
const custom = (token) => JSON.stringify(Object.fromEntries(Object.entries(token.claims).filter(([name]) => !standard.includes(name))));

let shown;
onIdTokenChanged(auth, async (user) => {
  if (!user) return;
  const token = await getIdTokenResult(user);
  if (shown && version(shown) === version(token)) return;
  if (shown) say(`old claims    ${custom(shown)}`);
  say(`${shown ? 'new claims ' : 'claims     '}   ${custom(token)}`);
  shown = token;
});

let stop = () => {};
async function follow() {
  const { user } = await signIn();
  say(`signed in     ${user.uid}`);
  stop = followClaims({
    user, db,
    onSignal: (s) => say(`signal        version ${s.claimsVersion}, ${s.triggeredBy}, issued ${s.issuedAt.toDate().toISOString()}, traceId ${s.traceId}`),
    onTrouble: (error) => say(`trying again  ${error.message}`),
    onSignedOut: (error) => {
      say(`signed out    ${error.message}`);
      follow().catch(fail);
    },
  });
}

async function end(code) {
  stop();
  await close();
  process.exit(code);
}

function fail(error) {
  say(`cannot sign in: ${error.message}`);
  return end(1);
}

process.on('SIGINT', () => end(0));
process.on('SIGTERM', () => end(0));
await follow().catch(fail);
