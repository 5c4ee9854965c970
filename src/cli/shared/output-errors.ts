/**
 * Ends a command without an error when the reader of its output, such as head(1), has exited. Ends it with an error if
 * the output cannot be written.
 */
export function handleOutputErrors(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    console.error(`The output cannot be written: ${error.message}`);
    process.exit(1);
  });
  process.stderr.on('error', () => {}); // such an error cannot be reported
}
