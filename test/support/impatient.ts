// Imported before softefa.js: devices that give up a silent peer soon.
export const TIMEOUT_MS = 600;
process.env.SOFTEFA_TIMEOUT_MS = String(TIMEOUT_MS);
