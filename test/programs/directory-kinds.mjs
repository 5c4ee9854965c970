// Makes a directory of any kind from JSON.
import { readFile } from 'node:fs/promises';
import {
  EtcdDirectory,
  FolderDirectory,
  KubernetesDirectory,
  RedisDirectory,
} from 'libfabric/directory';

/**
 * @typedef {{ kind: string, interval: number, folder?: string, records?: string, port?: number, host?: string,
 *   endpoints?: string, url?: string }} Making
 */

/** @param {Making} making */
export function makeDirectory({ kind, interval, folder = '', records = '', ...rest }) {
  const { port = 0, host = '', endpoints = '', url = '' } = rest;
  if (kind === 'etcd') return new EtcdDirectory({ endpoints, interval });
  if (kind === 'redis') return new RedisDirectory({ url, interval });
  if (kind === 'folder') return new FolderDirectory(folder, { interval });
  const resolve = async () => JSON.parse(await readFile(records, 'utf8'));
  return new KubernetesDirectory({ service: 'engines', port, host, resolve, interval });
}
