// node load-program.js: loads libfabric and queries efa. The parent checks whether a signal ends it.
import { loadLibrary } from './library.js';

loadLibrary();
