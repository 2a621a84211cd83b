// The relay's program, run for a check.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = process.env.OUTBOX_RELAY ?? fileURLToPath(new URL('../../../dist/outbox-relay', import.meta.url));

// startRelay returns once the relay is ready. stop ends it and waits until it has.
export async function startRelay(projectId) {
  const child = spawn(program, ['serve', '--host', '127.0.0.1', '--port', '0', '--ensure-topics'], {
    env: { ...process.env, GOOGLE_CLOUD_PROJECT: projectId }, stdio: ['ignore', 'inherit', 'pipe'],
  });
  const exited = once(child, 'exit');
  const log = [];
  const serving = new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      const addr = line.match(/"message":"serving".*?"addr":"([^"]+)"/)?.[1];
      if (addr) resolve(addr);
    });
    exited.then(([code]) => reject(new Error(`the relay ended with ${code}: ${log.slice(-5).join('\n')}`)), reject);
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  try {
    const addr = await serving;
    for (const until = Date.now() + 90_000; ; await new Promise((r) => setTimeout(r, 50))) {
      const ready = await fetch(`http://${addr}/readyz`);
      if (ready.ok) break;
      if (Date.now() > until) throw new Error(`the relay is not ready: ${await ready.text()}`);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, log };
}
