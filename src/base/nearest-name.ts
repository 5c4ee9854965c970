// Finds the intended name for a misspelt one. It is in JavaScript, because libfabric/softefa and
// libfabric/verbs check their options without the addon.

/** The name that differs from a wrong one in the fewest letters; undefined if all differ in many. */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(2, wrong.length / 2);
  for (const name of names) {
    const distance = editDistance(wrong.toLowerCase(), name.toLowerCase());
    if (distance > least || (nearest !== undefined && distance === least)) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

/** The number of letters to insert, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let distance = Math.min(at(row, j - 1) + (same ? 0 : 1), at(row, j) + 1, at(next, j - 1) + 1);
      if (j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, at(before, j - 2) + 1);
      }
      next.push(distance);
    }
    before = row;
    row = next;
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number) => row[index] ?? Number.POSITIVE_INFINITY;
