// Imports the package and prints the outcome as JSON. FAKE_PLATFORM makes the process look like one on another
// platform.
const fake = process.env.FAKE_PLATFORM;
if (fake === 'musl') {
  process.report.getReport = () => ({ header: {} });
} else if (fake) {
  Object.defineProperty(process, 'platform', { value: fake });
}
try {
  const { version } = await import('libfabric');
  console.log(JSON.stringify({ loaded: version().string }));
} catch (error) {
  console.log(JSON.stringify({ name: error.name, code: error.code, message: error.message }));
}
