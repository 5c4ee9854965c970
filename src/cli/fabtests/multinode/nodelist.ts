// Slurm's notation for host names: `gpu[001-003,007],login`.

const MOST = 65_536; // hosts of a list

/** The hosts of a list, in its order. */
export function expandNodelist(text: string): string[] {
  const hosts = splitOutside(text).flatMap(expand);
  if (hosts.length === 0) throw malformed(text);
  return hosts;
}

// Commas within brackets separate numbers; commas outside separate hosts.
function splitOutside(text: string): string[] {
  return text.split(/,(?![^[]*\])/).filter((part) => part !== '');
}

function expand(text: string): string[] {
  const found = /^([^[\]]*)\[([^[\]]+)\](.*)$/.exec(text);
  if (found === null) {
    if (/[[\]\s]/.test(text)) throw malformed(text);
    return [text];
  }
  const [, before = '', numbers = '', rest = ''] = found;
  const endings = rest === '' ? [''] : expand(rest);
  const hosts = numbers
    .split(',')
    .flatMap((part) => range(part, text))
    .flatMap((number) => endings.map((ending) => `${before}${number}${ending}`));
  if (hosts.length > MOST) throw malformed(text);
  return hosts;
}

// '008-011': all numbers are padded to the width of the first.
function range(part: string, text: string): string[] {
  const found = /^(\d+)(?:-(\d+))?$/.exec(part);
  if (found === null) throw malformed(text);
  const [, first = '', last = first] = found;
  const count = Number(last) - Number(first) + 1;
  if (count < 1 || count > MOST) throw malformed(text);
  return Array.from({ length: count }, (_, i) =>
    String(Number(first) + i).padStart(first.length, '0'),
  );
}

const malformed = (text: string) => new Error(`'${text}' is not a list of hosts`);
