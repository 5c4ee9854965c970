// The messages of fi_pingpong(1)'s two sides over their control connection.
import type { AddrFormat } from '../../base/flags.js';
import type { OobSocket } from '../fabtests/common/oob.js';
import type { Session } from '../fabtests/common/session.js';

/** The port of the server's control connection. */
export const CONTROL_PORT = 47_592;

const MOST_ADDRESS_BYTES = 1024;
const COUNT_BYTES = 10;
const [QUESTION, ANSWER, COUNTED] = ['q\0', 'a\0', 'cnt ok\0'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

// fi_getinfo(3)'s numbers. A format without a name here is identified by its number.
const FORMATS: readonly AddrFormat[] = [
  'FI_FORMAT_UNSPEC',
  'FI_SOCKADDR',
  'FI_SOCKADDR_IN',
  'FI_SOCKADDR_IN6',
  'FI_SOCKADDR_IB',
  'FI_ADDR_PSMX',
  'FI_ADDR_GNI',
  'FI_ADDR_BGQ',
  'FI_ADDR_MLX',
  'FI_ADDR_STR',
  'FI_ADDR_PSMX2',
  'FI_ADDR_IB_UD',
  'FI_ADDR_EFA',
];

/** An endpoint's address, as its side sends it. */
export interface Name {
  readonly format: AddrFormat;
  readonly address: Uint8Array;
}

/** Sends the local address: its length, its format and its bytes. */
export function sendName(oob: OobSocket, { format, address }: Name): void {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(address.length, 0);
  head.writeUInt32LE(numberOf(format), 4);
  oob.send(Buffer.concat([head, address]));
}

/** Receives the peer's address. */
export async function receiveName(oob: OobSocket): Promise<Name> {
  const head = await oob.receive(8);
  const length = head.readUInt32BE(0);
  if (length > MOST_ADDRESS_BYTES) throw new Error(`the peer has an address of ${length} bytes`);
  const number = head.readUInt32LE(4);
  const format = FORMATS[number] ?? (`FI_ADDR_0x${number.toString(16)}` as AddrFormat);
  return { format, address: await oob.receive(length) };
}

function numberOf(format: AddrFormat): number {
  const known = FORMATS.indexOf(format);
  return known >= 0 ? known : Number.parseInt(format.replace(/^FI_ADDR_0x/, ''), 16) || 0;
}

/** Waits until both sides have called it. */
export async function synchronize(session: Session, oob: OobSocket): Promise<void> {
  if (session.role === 'client') oob.send(QUESTION);
  await expect(session, oob, session.role === 'client' ? ANSWER : QUESTION);
  if (session.role === 'server') oob.send(ANSWER);
}

/** Exchanges the number of messages that the client received. Both sides print it. */
export async function shareCount(session: Session, oob: OobSocket, own: number): Promise<number> {
  if (session.role === 'client') {
    const text = Buffer.alloc(COUNT_BYTES);
    text.write(String(own));
    oob.send(text);
    await expect(session, oob, COUNTED);
    return own;
  }
  const text = (await session.until(oob.receive(COUNT_BYTES))).toString('latin1');
  const count = Number(text.replace(/\0.*$/s, ''));
  if (!Number.isSafeInteger(count)) throw new Error(`the peer sent an invalid count: ${text}`);
  oob.send(COUNTED);
  return count;
}

async function expect(session: Session, oob: OobSocket, expected: Buffer): Promise<void> {
  const reply = await session.until(oob.receive(expected.length), session.passiveTimeout);
  if (reply.equals(expected)) return;
  throw new Error(
    `the peer sent an unexpected message: ${JSON.stringify(reply.toString('latin1'))}`,
  );
}
