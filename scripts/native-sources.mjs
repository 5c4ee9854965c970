// Prints the addon's C++ sources for binding.gyp: native/*.cc and native/engine/*.cc.
import { readdirSync } from 'node:fs';

const root = new URL('../', import.meta.url);
for (const folder of ['native', 'native/engine', 'native/util']) {
  for (const file of readdirSync(new URL(folder, root)).sort()) {
    if (file.endsWith('.cc')) console.log(`${folder}/${file}`);
  }
}
