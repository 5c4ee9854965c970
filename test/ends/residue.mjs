// The resources of a process: threads, file descriptors, shared files and file mappings.
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

const listOf = (folder, read) =>
  readdirSync(folder).flatMap((name) => {
    try {
      return [read(name)];
    } catch {
      return []; // the entry has disappeared in the meantime
    }
  });

// softefa keeps the segments of peer processes mapped while these processes live.
function isOfLivePeer(path) {
  const pid = Number(path.match(/softefa-.*\/(\d+)\.[\da-f]{16}\/segment$/)?.[1] ?? process.pid);
  return pid !== process.pid && existsSync(`/proc/${pid}`);
}

// Sockets, pipes and inodes have numbers in their names; shared files have the pid of their process.
const named = (target) => target.replace(/:?\[\d+\]/, '').replace(/\d+\.[\da-f]{16}|\d+/g, 'N');

function counted(paths) {
  const counts = new Map();
  for (const name of paths.filter((path) => !isOfLivePeer(path)).map(named))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function mappings() {
  const lines = readFileSync('/proc/self/maps', 'utf8').trim().split('\n');
  const paths = lines.map((line) => line.split(/\s+/).slice(5).join(' '));
  return paths.filter((path) => /^\/(dev|memfd|SYSV|\[)/.test(path));
}

/** The current resources of this process. */
export function holdings() {
  return {
    threads: counted(
      listOf('/proc/self/task', (id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim()),
    ),
    descriptors: counted(listOf('/proc/self/fd', (fd) => readlinkSync(`/proc/self/fd/${fd}`))),
    files: counted(sharedFilesOf(process.pid)),
    mappings: counted(mappings()),
  };
}

const began = Date.now() - 100; // the clock of /dev/shm is coarse

/**
 * The files in /dev/shm that a process has created. shm names them after the pid, and efa after the number and the
 * key of a queue pair. There may be older files of a killed process that had the same pid.
 */
export function sharedFilesOf(pid, addresses = []) {
  const hex = (address, ...places) =>
    places.map((place) => address[place].toString(16).padStart(2, '0')).join('');
  const pairs = addresses.map((bytes) => `_${hex(bytes, 17, 16)}_${hex(bytes, 23, 22, 21, 20)}_`);
  const isNew = (file) =>
    (statSync(`/dev/shm/${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= began;
  return readdirSync('/dev/shm')
    .filter((file) => file.startsWith(`${pid}:`) || pairs.some((pair) => file.includes(pair)))
    .filter(isNew);
}

/** The names of the files in /dev/shm that this process has mapped. Omits those that softefa removes itself. */
export const mappedSharedFiles = () =>
  mappings().flatMap((path) => path.match(/^\/dev\/shm\/([^/]+)$/)?.[1] ?? []);

/** The resources that did not exist before. */
export function more(before, now) {
  return Object.entries(now).flatMap(([kind, counts]) =>
    [...counts]
      .map(([name, count]) => ({ kind, name, had: before[kind].get(name) ?? 0, has: count }))
      .filter(({ had, has }) => has > had),
  );
}
