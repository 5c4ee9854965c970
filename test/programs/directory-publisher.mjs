// Publishes an entry (arguments: how to make the directory as JSON, group, id, ttl), watches the group, and says so. Ends
// by itself when its standard input ends, because neither keeps a process alive.
import { makeDirectory } from './directory-kinds.mjs';

const [making, group, id, ttl] = process.argv.slice(2);
const directory = makeDirectory(JSON.parse(making));
await directory.publish(group, { id, address: `address of ${id}` }, { ttl: Number(ttl) });
directory.watch(group).next();
console.log('published');
process.stdin.resume();
