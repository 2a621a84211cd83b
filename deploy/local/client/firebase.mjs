// The Firebase SDK, led to emulators by the variables that every Google client obeys.
import { deleteApp, initializeApp } from 'firebase/app';
import { connectAuthEmulator, getAuth } from 'firebase/auth';
import { connectFirestoreEmulator, getFirestore } from 'firebase/firestore';

// open starts the SDK for one account. Its owner calls close. mockUserToken is
// Firestore's, for who does not sign in.
export function open({ projectId, apiKey = projectId, firestore, auth: authHost, mockUserToken, name = 'client' }) {
  // An emulator takes any API key; the embedded Auth takes it for the project.
  const app = initializeApp({ projectId, apiKey }, name);
  const db = getFirestore(app), auth = getAuth(app);
  if (authHost) connectAuthEmulator(auth, `http://${authHost}`, { disableWarnings: true });
  if (firestore) {
    const { hostname, port } = new URL(`http://${firestore}`);
    connectFirestoreEmulator(db, hostname, Number(port), { mockUserToken });
  }
  return { db, auth, close: () => deleteApp(app) };
}

// options reads the environment.
export function options(env = process.env) {
  const projectId = env.GOOGLE_CLOUD_PROJECT;
  if (!projectId) throw new Error('GOOGLE_CLOUD_PROJECT names no project');
  return {
    projectId,
    apiKey: env.FIREBASE_API_KEY ?? projectId,
    firestore: env.FIRESTORE_EMULATOR_HOST,
    auth: env.FIREBASE_AUTH_EMULATOR_HOST,
  };
}
