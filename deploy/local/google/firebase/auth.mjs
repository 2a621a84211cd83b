// Serves Google's Auth emulator, the program that `firebase emulators:start --only auth`
// runs, and nothing of the suite around it: no hub, no log server, no analytics, no
// update check. Usage: node auth.mjs HOST PORT
//
// The emulator takes every API key for one project's, which the suite names when it
// starts. Here a key is its project's ID, so that tests can have projects of their own.
import { AsyncLocalStorage } from "node:async_hooks";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { default: api } = require("firebase-tools/lib/emulator/auth/apiSpec");
const { createApp } = require("firebase-tools/lib/emulator/auth/server");
const { AgentProjectState } = require("firebase-tools/lib/emulator/auth/state");

// Tenants and configuration, which nobody here calls, take two thirds of the start.
for (const path of Object.keys(api.paths)) {
  if (path.startsWith("/v2/") || path.includes("/tenants/")) delete api.paths[path];
}

const [host, port] = process.argv.slice(2);
const byKey = "project-of-the-api-key";
const caller = new AsyncLocalStorage();

// States are the projects by ID. The emulator asks for byKey where a key decides.
class States extends Map {
  get(id) {
    const project = id === byKey ? (caller.getStore() ?? id) : id;
    if (!this.has(project)) this.set(project, new AgentProjectState(project));
    return super.get(project);
  }
}

const app = await createApp(byKey, 0, new States());
createServer((request, response) => {
  const key = new URL(request.url, "http://emulator").searchParams.get("key");
  caller.run(key || undefined, () => app(request, response));
}).listen(Number(port), host);
