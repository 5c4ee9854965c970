/** Ends a command quietly when the reader of its output, such as head(1), has gone, and with an error if output is lost. */
export function handleOutputErrors(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    console.error(`The output cannot be written: ${error.message}`);
    process.exit(1);
  });
  process.stderr.on('error', () => {}); // there is nobody to tell
}
