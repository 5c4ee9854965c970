/** Lets an error of a program's function end the process as an uncaught one, after what the caller still has to do. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
