import type { FileHandle } from 'node:fs/promises';

/** Writes all of the bytes into a file, at a position. */
export async function writeAll(
  file: FileHandle,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const rest = bytes.length - done;
    const { bytesWritten } = await file.write(bytes, done, rest, position + done);
    done += bytesWritten;
  }
}
