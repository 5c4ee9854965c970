import { getSystemErrorName } from 'node:util';

/** A call of rdma-core that failed: `EACCES: Permission denied, ibv_open_device`. */
export class VerbsError extends Error {
  /** The system's name of {@link errno}: `'EACCES'`. */
  readonly code: string;
  /** The positive error number. */
  readonly errno: number;
  /** The call that reported it: `'ibv_open_device'`. */
  readonly syscall: string;

  constructor(errno: number, syscall: string, text: string) {
    const code = getSystemErrorName(-errno);
    super(`${code}: ${text}, ${syscall}`);
    this.code = code;
    this.errno = errno;
    this.syscall = syscall;
  }

  /** For JSON.stringify(). */
  toJSON(): { code: string; errno: number; syscall: string; message: string } {
    const { code, errno, syscall, message } = this;
    return { code, errno, syscall, message };
  }
}

Object.defineProperty(VerbsError.prototype, 'name', { value: 'VerbsError', configurable: true });

/** `ERR_RDMA_CORE_NOT_FOUND`. */
export function rdmaCoreNotFound(library: string, cause: Error): Error & { readonly code: string } {
  const lines = [
    `${library} of rdma-core could not be loaded: ${cause.message}`,
    'Install rdma-core: apt-get install rdma-core ibverbs-providers (Debian, Ubuntu), dnf install',
    'rdma-core libibverbs (Amazon Linux, Fedora), or the EFA installer (https://docs.aws.amazon.com/',
    'AWSEC2/latest/UserGuide/efa-start.html).',
  ];
  const error = new Error(lines.join('\n'), { cause });
  return Object.assign(error, { code: 'ERR_RDMA_CORE_NOT_FOUND' as const });
}

/** Whether rdma-core, or a part of it, is missing. */
export function isRdmaCoreNotFound(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && error.code === 'ERR_RDMA_CORE_NOT_FOUND';
}
