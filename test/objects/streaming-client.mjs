// Streams an object, and sends its length and the most memory of this process to its parent.
import { ObjectClient } from 'libfabric/objects';

const client = new ObjectClient(process.argv[2]);
let length = 0;
let rss = 0;
for await (const piece of client.stream('a')) {
  length += piece.length;
  rss = Math.max(rss, process.memoryUsage.rss());
}
process.send({ length, rss });
process.on('disconnect', () => process.exit());
