// Prints C++ sources for binding.gyp: those of the given folders, or by default those of the addon.
import { readdirSync } from 'node:fs';

const ADDON = ['native', 'native/engine', 'native/transfer', 'native/util'];

const root = new URL('../', import.meta.url);
const folders = process.argv.length > 2 ? process.argv.slice(2) : ADDON;
for (const folder of folders) {
  for (const file of readdirSync(new URL(folder, root)).sort()) {
    if (file.endsWith('.cc')) console.log(`${folder}/${file}`);
  }
}
