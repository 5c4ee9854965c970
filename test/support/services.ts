// Texts of ports and services, for every call that takes one.
import { readFileSync } from 'node:fs';

/** Numbers that getaddrinfo(3) takes for another port, or that are no port at all. */
export const NOT_PORTS = [
  '65536',
  '99999',
  '4294967376',
  '99999999999999999999',
  '-1',
  '-65456',
  '+80',
  ' 80',
  '80 ',
];

/** Names of no service on any system, although they contain a number. */
export const NO_SERVICES = ['080x', '1e3', '0x50', '80.0'];

/** Whether this system has the service `domain`, port 53. */
export const knowsDomain = /^domain\s+53\/udp/m.test(services());

function services(): string {
  try {
    return readFileSync('/etc/services', 'utf8');
  } catch {
    return ''; // in a container without netbase
  }
}
