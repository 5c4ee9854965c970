// A certificate of its own authority for localhost, made when it is first used.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'libfabric-certificate-'));
const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string];
execFileSync(
  'openssl',
  [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '1', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ...['-keyout', key, '-out', cert],
  ],
  { stdio: 'ignore' },
);
export const TEST_KEY = readFileSync(key);
export const TEST_CERT = readFileSync(cert);
rmSync(folder, { recursive: true });
