import { getSystemErrorMap } from 'node:util';

/** An error like those of node:net: `code`, and `errno` and `syscall` if it is an error of the system. */
export type ConnectionError = Error & {
  readonly code: string;
  readonly errno?: number;
  readonly syscall?: string;
};

const numbers = new Map([...getSystemErrorMap()].map(([number, [code]]) => [code, number]));

/** The error number of a code, as packets carry it. */
export const numberOf = (code: string): number => -(numbers.get(code) ?? 0);

/** @param detail undefined: the text is that of node:net, `read ECONNRESET`. */
export function connectionError(
  code: string,
  detail: string | undefined,
  syscall?: string,
): ConnectionError {
  const errno = numbers.get(code);
  const text = syscall === undefined ? code : `${syscall} ${code}`;
  return Object.assign(new Error(detail === undefined ? text : `${text}: ${detail}`), {
    code,
    ...(errno !== undefined && { errno }),
    ...(syscall !== undefined && { syscall }),
  });
}

/** An error with a code and a text of node:net. */
export const codedError = (code: string, text: string): ConnectionError =>
  Object.assign(new Error(text), { code });

export const socketClosed = (): ConnectionError =>
  codedError('ERR_SOCKET_CLOSED', 'Socket is closed');

/** The error of a call or a socket that a signal has ended, as in Node.js. */
export const abortedBy = (signal: AbortSignal): ConnectionError =>
  Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });

/** The error of a number that the peer has sent. */
export function errorOfPeer(number: number, syscall: string): ConnectionError {
  const [code] = getSystemErrorMap().get(-number) ?? ['ECONNRESET'];
  return connectionError(code, undefined, syscall);
}
