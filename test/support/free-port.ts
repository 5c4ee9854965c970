// Programs that Node.js runs as they are use it, too.
export { freePort } from './free-port.mjs';
