import { errnoByCode } from '../base/error-codes.js';
import { FabricError } from '../base/errors.js';

/** The error of a call that the service has not carried out. */
export function failed(call: string, store: string, cause: unknown): FabricError {
  if (FabricError.is(cause)) return cause;
  const { errno, message } = Object(cause) as Partial<NodeJS.ErrnoException>;
  const number = typeof errno === 'number' && errno < 0 ? -errno : errnoByCode.FI_EREMOTEIO;
  return new FabricError(number, call, { detail: `${store}: ${message ?? cause}`, cause }, failed);
}

/** Imports an optional peer dependency. */
export async function importPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new FabricError(errnoByCode.FI_ENOSYS, 'import', {
      detail: `the package ${name} is not installed`,
      hint: `run \`npm install ${name}\``,
      cause,
    });
  }
}
