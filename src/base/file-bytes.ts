// read(2) and write(2) may move fewer bytes than they were asked to.
import { read as readWithCallback } from 'node:fs';
import { promisify } from 'node:util';

const read = promisify(readWithCallback);

type Read = (
  into: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ readonly bytesRead: number }>;

type Write = (
  bytes: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ readonly bytesWritten: number }>;

/** A file that was opened without a FileHandle. */
export const fileOf = (fd: number): { readonly read: Read } => ({
  read: (into, offset, length, position) => read(fd, into, offset, length, position),
});

/** Fills memory from a file, from a position on. Returns the number of bytes: fewer than the memory has if the file ends. */
export async function readAll(
  file: { readonly read: Read },
  into: Uint8Array,
  position: number,
): Promise<number> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) return done;
    done += bytesRead;
  }
  return into.length;
}

/** Writes all of the bytes into a file, at a position. */
export async function writeAll(
  file: { readonly write: Write },
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const rest = bytes.length - done;
    const { bytesWritten } = await file.write(bytes, done, rest, position + done);
    if (bytesWritten === 0)
      throw Object.assign(new Error('EIO: the system has written no bytes, write'), {
        code: 'EIO',
        syscall: 'write',
      });
    done += bytesWritten;
  }
}
