// A server and a child with a session for each of its sockets, which all echo at the same time. Arguments: provider, number of
// sockets. Prints how many sockets have which path, and how many have got their own bytes back.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { createServer, upgrade } from '../../dist/net/index.js';

const [provider, count, port] = process.argv.slice(2);
const fabric = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };

if (port === undefined) {
  const server = createServer({ ...fabric, maxSessions: 2000 }, (socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const child = fork(process.argv[1], [provider, count, server.address().port]);
  const [code] = await once(child, 'exit');
  server.close();
  process.exitCode = code ?? 1;
} else {
  const sockets = [];
  while (sockets.length < Number(count)) {
    const connection = connectTcp(Number(port), '127.0.0.1');
    await once(connection, 'connect');
    sockets.push(await upgrade(connection, { ...fabric, timeout: 60_000 }));
  }
  const bytes = (i) => Buffer.alloc(3000, `socket ${i}`);
  const read = sockets.map((socket) => socket.toArray());
  for (const [i, socket] of sockets.entries()) socket.end(bytes(i));
  const right = (await Promise.all(read)).filter((parts, i) =>
    Buffer.concat(parts).equals(bytes(i)),
  );
  const paths = [...new Set(sockets.map(({ path }) => path))];
  console.log(`${sockets.length} over ${paths.join(', ')}, ${right.length} right`);
}
