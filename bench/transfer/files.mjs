// Files over streams of the engine, against the same bytes from registered memory. The files are in memory (tmpfs).
import { open, rm } from 'node:fs/promises';
import { elapsed } from './pair.mjs';

const BLOCK = 16 << 20;
const pathOf = (name) => `/dev/shm/libfabric-bench-${process.pid}-${name}`;

async function makeFile(path, size) {
  const block = Buffer.alloc(BLOCK, 7);
  const file = await open(path, 'w+');
  for (let at = 0; at < size; at += BLOCK)
    await file.write(block, 0, Math.min(BLOCK, size - at), at);
  return file;
}

const timed = async (run) => {
  const took = elapsed();
  await run();
  return took();
};

/** A file into the memory that the peer has offered, against registered memory into it. */
export async function uploaded(pair, size) {
  const path = pathOf('from');
  const file = await makeFile(path, size);
  const once = (run) => async () => {
    const token = await pair.ask('offerOnce', { name: 'upload', length: size });
    const took = await timed(() => run(token));
    await pair.ask('released', 'upload');
    return took;
  };
  return {
    contenders: {
      file: once((token) => pair.remote.upload({ file, end: size }, token)),
      memory: once((token) => pair.remote.write(pair.memory.slice(0, size), token)),
    },
    close: () => file.close().then(() => rm(path)),
  };
}

/** The memory that the peer has offered into a file, against registered memory. */
export async function downloaded(pair, size) {
  const path = pathOf('into');
  const file = await makeFile(path, size);
  const once = (run) => async () => {
    const token = await pair.ask('offerOnce', { name: 'download', length: size, access: 'read' });
    const took = await timed(() => run(token));
    await pair.ask('released', 'download');
    return took;
  };
  return {
    contenders: {
      file: once((token) => pair.remote.download(token).saveTo(file)),
      memory: once((token) => pair.remote.read(token, pair.memory.slice(0, size))),
    },
    close: () => file.close().then(() => rm(path)),
  };
}

/** A file into a file of the peer, against registered memory into registered memory. */
export async function copied(pair, size) {
  const [from, into] = [pathOf('from'), pathOf('copy')];
  const file = await makeFile(from, size);
  await (await makeFile(into, size)).close();
  return {
    contenders: {
      file: async () => {
        const token = await pair.ask('saveIncoming', into);
        const took = elapsed();
        await pair.remote.upload(file, token);
        await pair.ask('saved', into);
        return took();
      },
      memory: async () => {
        const token = await pair.ask('offerOnce', { name: 'copy', length: size });
        const took = await timed(() => pair.remote.write(pair.memory.slice(0, size), token));
        await pair.ask('released', 'copy');
        return took;
      },
    },
    close: async () => {
      await file.close();
      await Promise.all([rm(from), rm(into)]);
    },
  };
}
