/**
 * Discovery with what clusters have: etcd, Redis, a shared folder, or a headless service of Kubernetes.
 *
 * @module
 */
export type { Reader } from '../base/arrivals.js';
export type {
  Directory,
  DirectoryEntry,
  PublishOptions,
  WatchOptions,
} from '../base/directory.js';
export { EtcdDirectory, type EtcdDirectoryOptions } from './etcd.js';
export { FolderDirectory } from './folder.js';
export { KubernetesDirectory, type KubernetesDirectoryOptions } from './kubernetes.js';
export { RedisDirectory, type RedisDirectoryOptions } from './redis.js';
export type { DirectoryStore, StoredEntry } from './store.js';
export { StoredDirectory, type StoredDirectoryOptions } from './stored-directory.js';
