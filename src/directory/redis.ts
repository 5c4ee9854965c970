import { checkObject, checkOptions, checkString, namesOf } from '../base/checks.js';
import { invalidArgValue } from '../base/errors.js';
import { entryOf, MAX_LIST, MAX_RECORD, recordOf, TooLongError } from './records.js';
import { RedisClient } from './redis-client.js';
import type { DirectoryStore, StoredEntry } from './store.js';
import { StoredDirectory, type StoredDirectoryOptions } from './stored-directory.js';

/** Options of a RedisDirectory. */
export interface RedisDirectoryOptions extends StoredDirectoryOptions {
  /** The server: `'redis://user:password@10.0.0.2:6379'`, or `rediss:` for TLS. */
  readonly url: string;
  /** The begin of all keys and channels. If omitted, `'libfabric'`. */
  readonly prefix?: string;
  /** More options of createClient() of the package `redis`, such as `{ socket: { ca } }`. */
  readonly client?: Readonly<Record<string, unknown>>;
}

const NAMES = namesOf<RedisDirectoryOptions>({ url: 1, prefix: 1, client: 1, interval: 1 });
const INTERVAL = 5000; // ms
const ROUNDING = 1; // ms
const PAGE = 4 * 2 ** 20; // bytes of the records of an answer
const MAX_IDS = 10_000; // of a call

/**
 * A directory in one Redis server, 5.0 or newer, by the package `redis`, 5 or newer, which the program installs. The
 * server's clock counts the leases.
 */
export class RedisDirectory extends StoredDirectory {
  /** @throws TypeError, RangeError for invalid options. */
  constructor(options: RedisDirectoryOptions) {
    const { interval = INTERVAL, ...rest } = checkOptions('options', options, NAMES);
    super(new RedisStore(rest), { interval });
  }
}

// KEYS[1] is a sorted set with the end of each entry's lease, KEYS[2] a hash with the records. Each script first removes the
// entries whose leases have ended, and tells the channel ARGV[1] of changes. Redis does not expire members of sets.
const SWEEP = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)
for _, id in ipairs(ended) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
local changes = #ended`;
const TELL = `
if changes > 0 then redis.call('PUBLISH', ARGV[1], '') end`;
const WRITE = `
if redis.call('HGET', KEYS[2], ARGV[2]) ~= ARGV[3] then changes = changes + 1 end
redis.call('ZADD', KEYS[1], now + ARGV[4], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])${TELL}`;
const PUT = SWEEP + WRITE;
// Another record with a writer is that of another one. What has no writer is damage, which its owner repairs.
const RENEW = `${SWEEP}
local record = redis.call('HGET', KEYS[2], ARGV[2])
if record and record ~= ARGV[3] and string.find(record, '"writer":', 1, true) then${TELL}
  return 0
end${WRITE}
return 1`;
const REMOVE = `${SWEEP}
if redis.call('HGET', KEYS[2], ARGV[2]) == ARGV[3] then
  changes = changes + redis.call('ZREM', KEYS[1], ARGV[2])
  redis.call('HDEL', KEYS[2], ARGV[2])
end${TELL}`;
// An entry is a record with a lease. ARGV[2] is the maximum size of a record: larger ones stay where they are. ARGV[3] is
// that of all records in the answer: instead of those after them, it has their sizes. Redis answers nobody else meanwhile.
const LIST = `${SWEEP}${TELL}
local leases = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local found = {}
local room = tonumber(ARGV[3])
for i = 1, #leases, 2 do
  local id = leases[i]
  local size = #id <= 200 and redis.call('HSTRLEN', KEYS[2], id) or 0
  if size > tonumber(ARGV[2]) then size = 0 end
  local record = size
  if size <= room then
    room = room - size
    record = size > 0 and redis.call('HGET', KEYS[2], id) or ''
  end
  found[#found + 1] = string.sub(id, 1, 200)
  found[#found + 1] = record
  found[#found + 1] = tostring(leases[i + 1] - now)
end
return found`;
// The records of the entries ARGV[3], ARGV[4], ...
const READ = `
local found = {}
for i = 3, #ARGV do
  local isSmall = redis.call('HSTRLEN', KEYS[2], ARGV[i]) <= tonumber(ARGV[2])
  found[#found + 1] = isSmall and redis.call('HGET', KEYS[2], ARGV[i]) or ''
end
return found`;
// ARGV[2] is an entry, ARGV[3] its lease.
const SHORTEN = `${SWEEP}${TELL}
local ends = redis.call('ZSCORE', KEYS[1], ARGV[2])
if ends and ends - now > tonumber(ARGV[3]) then redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2]) end`;

class RedisStore implements DirectoryStore {
  readonly name: string;
  readonly #client: RedisClient;
  readonly #prefix: string;

  constructor({ url, prefix = 'libfabric', client }: Partial<RedisDirectoryOptions>) {
    const { host } = urlOf(url);
    this.#prefix = checkString('options.prefix', prefix);
    const more = client === undefined ? {} : checkObject('options.client', client);
    this.#client = new RedisClient({ ...more, url: url as string });
    this.name = `redis at ${host}`;
  }

  async put(group: string, entry: StoredEntry): Promise<void> {
    await this.#write(PUT, group, entry);
  }

  async renew(group: string, entry: StoredEntry): Promise<boolean> {
    return (await this.#write(RENEW, group, entry)) === 1;
  }

  #write(script: string, group: string, entry: StoredEntry): Promise<unknown> {
    return this.#run(script, group, entry.id, recordOf(entry), String(Math.ceil(entry.ttl)));
  }

  async remove(group: string, id: string, entry: StoredEntry): Promise<void> {
    await this.#run(REMOVE, group, id, recordOf(entry));
  }

  async list(group: string): Promise<readonly StoredEntry[]> {
    const found = listedOf(await this.#run(LIST, group, String(MAX_RECORD), String(PAGE)));
    await this.#readLater(group, found);
    const entries: StoredEntry[] = [];
    for (const { id, record, left } of found) {
      if (record === undefined) continue;
      const entry = entryOf(this.name, group, id, record);
      if (entry === undefined) continue;
      entries.push(entry);
      if (!(left <= entry.ttl + ROUNDING)) await this.#shorten(group, entry);
    }
    return entries;
  }

  /** Reads the records that the first answer had no room for. */
  async #readLater(group: string, found: readonly Listed[]): Promise<void> {
    const all = found.reduce((sum, { size }) => sum + size, 0);
    if (all > MAX_LIST) throw new TooLongError();
    const later = found.filter(({ size }) => size > 0);
    for (let from = 0; from < later.length; ) {
      let to = from;
      for (let room = PAGE; room > 0 && to < later.length && to - from < MAX_IDS; to++) {
        room -= later[to]?.size ?? 0;
      }
      const page = later.slice(from, to);
      const ids = page.map(({ id }) => id);
      const records = await this.#run(READ, group, String(MAX_RECORD), ...ids);
      page.forEach((one, i) => {
        const record = Array.isArray(records) ? records[i] : undefined;
        // An entry that was withdrawn meanwhile has none.
        one.record = typeof record === 'string' ? record : undefined;
      });
      from = to;
    }
  }

  /** After a step of the server's clock back, a lease would last until the clock is where it was. */
  async #shorten(group: string, { id, ttl }: StoredEntry): Promise<void> {
    await this.#run(SHORTEN, group, id, String(Math.ceil(ttl)));
  }

  follow(group: string, changed: () => void, signal: AbortSignal): Promise<void> {
    return this.#client.subscribe(this.#channelOf(group), changed, signal);
  }

  close(): void {
    this.#client.close();
  }

  // The braces keep the keys of a group in one slot.
  #run(script: string, group: string, ...args: string[]): Promise<unknown> {
    const keys = ['leases', 'records'].map((what) => `${this.#prefix}:{${group}}:${what}`);
    return this.#client.run(script, keys, [this.#channelOf(group), ...args]);
  }

  #channelOf(group: string): string {
    return `${this.#prefix}:{${group}}:changes`;
  }
}

/** An entry in an answer. It has the size of its record, if the record comes later. */
interface Listed {
  readonly id: string;
  record: string | undefined;
  readonly size: number;
  readonly left: number;
}

function listedOf(answer: unknown): Listed[] {
  const parts: unknown[] = Array.isArray(answer) ? answer : [];
  const found: Listed[] = [];
  for (let i = 0; i < parts.length; i += 3) {
    const [id, record] = [String(parts[i]), parts[i + 1]];
    const isLater = typeof record === 'number';
    found.push({
      id,
      record: isLater ? undefined : String(record),
      size: isLater ? record : 0,
      left: Number(parts[i + 2]),
    });
  }
  return found;
}

function urlOf(given: unknown): URL {
  const text = checkString('options.url', given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ['redis:', 'rediss:'].includes(url.protocol)) return url;
  throw invalidArgValue('options.url', "must be a URL, such as 'redis://10.0.0.2:6379'");
}
