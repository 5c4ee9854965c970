// node load-program.js: loads libfabric and asks it for efa. Its end by a signal is what tells.
import { loadLibrary } from './library.js';

loadLibrary();
