// The part of the contract that libfabric/objects uses.

/** A regular file that was opened. */
export interface NativeObjectFile {
  /** -1 if `bytes` has the content, or if only the rest was asked for. The caller closes it. */
  readonly fd: number;
  /** Bytes. */
  readonly size: number;
  /** Microseconds since 1970. */
  readonly modified: number;
  readonly inode: number;
  /** The text of storageSetChecksum(). Empty if there is none, or if it was not asked for. */
  readonly checksum: string;
  readonly bytes: Uint8Array | null;
}

/** native/js/storage.cc. Numbers that are negative are those of errno(3). */
export interface NativeStorage {
  /**
   * Opens a file below a folder, by a path without symbolic links. Files of at most `inlined` bytes are read and closed.
   * null: only describes the file.
   */
  storageRead(
    root: number,
    path: string,
    inlined: number | null,
    checksum: boolean,
  ): Promise<NativeObjectFile | number>;
  /**
   * The same at once, or -EAGAIN if the kernel does not have everything in its caches. Content goes to the beginning of
   * `room`, if it is given: `bytes` is null then.
   */
  storageReadNow(
    root: number,
    path: string,
    inlined: number | null,
    checksum: boolean,
    room: Uint8Array | null,
  ): NativeObjectFile | number;
  /** A descriptor of a folder, for paths of /proc/self/fd. `create`: makes the folders that are missing. */
  storageFolder(root: number, path: string, create: boolean): number;
  /**
   * Closes a descriptor that native code has opened. closeSync() of node:fs warns in worker threads, which know only the
   * descriptors that node:fs has opened.
   */
  closeDescriptor(fd: number): number;
  /** Stores a text beside the content of a file. */
  storageSetChecksum(fd: number, text: string): number;
  /** Continues a CRC-64/NVME. */
  crc64(bytes: Uint8Array, before: bigint): Promise<bigint>;
  crc64Now(bytes: Uint8Array, before: bigint): bigint;
  crc64Portable(bytes: Uint8Array, before: bigint): bigint;
  crc64Combine(first: bigint, second: bigint, lengthOfSecond: number): bigint;
  crc64File(fd: number, start: number, end: number): Promise<bigint | number>;
}
