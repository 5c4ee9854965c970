// Import before softefa.js. Its devices then time out on a silent peer after this time.
export const TIMEOUT_MS = 600;
process.env.SOFTEFA_TIMEOUT_MS = String(TIMEOUT_MS);
