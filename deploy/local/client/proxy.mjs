// A wire that can be cut: a TCP proxy on loopback.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export async function openProxy(target) {
  const { hostname, port } = new URL(`http://${target}`);
  const sockets = new Set();
  let cut = false;
  const keep = (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    if (cut) return near.destroy();
    const far = connect(Number(port), hostname);
    keep(far);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => sockets.forEach((socket) => socket.destroy());
  return {
    address: `127.0.0.1:${server.address().port}`,
    cut() { cut = true; drop(); },
    mend() { cut = false; },
    async close() {
      server.close();
      drop();
      await once(server, 'close');
    },
  };
}
