// Addresses of tcp, udp and the like as text: `127.0.0.1:5000` and `[::1]:5000`.
import { isIPv4, isIPv6 } from 'node:net';
import { MAX_PORT } from './checks.js';

// struct sockaddr_in and struct sockaddr_in6 of Linux.
const [AF_INET, AF_INET6] = [2, 10];
const [IN_BYTES, IN6_BYTES] = [16, 28];
const [PORT_AT, IN_AT, IN6_AT] = [2, 4, 8];

/**
 * The bytes of a struct sockaddr for `IP:PORT`, with or without the prefix that straddr() writes.
 * Undefined for any other text.
 */
export function parseSocketAddress(text: string): Uint8Array | undefined {
  const [, six, four, digits] =
    /^(?:fi_sockaddr_in6?:\/\/)?(?:\[([\da-f:.]+)\]|([\d.]+)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > MAX_PORT) return undefined;
  if (four !== undefined) return isIPv4(four) ? socketAddress(bytesOfIPv4(four), port) : undefined;
  return six !== undefined && isIPv6(six) ? socketAddress(bytesOfIPv6(six), port) : undefined;
}

function socketAddress(ip: readonly number[], port: number): Uint8Array {
  const four = ip.length === 4;
  const bytes = new Uint8Array(four ? IN_BYTES : IN6_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, four ? AF_INET : AF_INET6, true);
  view.setUint16(PORT_AT, port);
  bytes.set(ip, four ? IN_AT : IN6_AT);
  return bytes;
}

const bytesOfIPv4 = (text: string) => text.split('.').map(Number);

function bytesOfIPv6(text: string): number[] {
  const [head = '', tail] = text.split('::');
  const before = bytesOfGroups(head);
  if (tail === undefined) return before;
  const after = bytesOfGroups(tail);
  return [...before, ...new Array<number>(16 - before.length - after.length).fill(0), ...after];
}

// The last group may be an IPv4 address.
function bytesOfGroups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return bytesOfIPv4(group);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** `IP:PORT` for the bytes of a struct sockaddr; undefined for other bytes. */
export function formatSocketAddress(bytes: Uint8Array): string | undefined {
  if (bytes.length < IN_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const family = view.getUint16(0, true);
  const port = view.getUint16(PORT_AT);
  if (family === AF_INET) return `${bytes.slice(IN_AT, IN_AT + 4).join('.')}:${port}`;
  if (family !== AF_INET6 || bytes.length < IN6_BYTES) return undefined;
  const groups = Array.from({ length: 8 }, (_, i) => view.getUint16(IN6_AT + 2 * i).toString(16));
  return `[${shortest(groups.join(':'))}]:${port}`;
}

// The longest run of zero groups becomes `::`.
function shortest(text: string): string {
  const runs = text.match(/\b0(?::0)+\b/g) ?? [];
  const longest = runs.reduce((most, run) => (run.length > most.length ? run : most), '');
  if (longest === '') return text;
  return text.replace(new RegExp(`(^|:)${longest}(:|$)`), '::');
}
