export interface Tile<T> { item: T; x: number; y: number; width: number; height: number }

// squarify divides a rectangle into tiles in proportion to the sizes of items, largest first, with sides of similar length.
export function squarify<T>(items: T[], sizeOf: (item: T) => number, width: number, height: number): Tile<T>[] {
  const sorted = items.filter((i) => sizeOf(i) > 0).sort((a, b) => sizeOf(b) - sizeOf(a));
  const total = sorted.reduce((n, i) => n + sizeOf(i), 0), out: Tile<T>[] = [];
  const area = (i: T) => sizeOf(i) / total * width * height;
  let x = 0, y = 0, w = width, h = height;
  for (let start = 0; start < sorted.length;) {
    const side = Math.min(w, h);
    let row: T[] = [], sum = 0, worst = Infinity;
    for (let i = start; i < sorted.length; i++) {
      const nextSum = sum + area(sorted[i]!), next = [...row, sorted[i]!];
      const ratio = Math.max(...next.map((t) => { const other = nextSum / side, own = area(t) / other; return Math.max(own / other, other / own); }));
      if (ratio > worst) break;
      row = next; sum = nextSum; worst = ratio;
    }
    const thickness = sum / side;
    let offset = 0;
    for (const item of row) {
      const length = area(item) / thickness;
      out.push(w < h ? { item, x: x + offset, y, width: length, height: thickness } : { item, x, y: y + offset, width: thickness, height: length });
      offset += length;
    }
    if (w < h) { y += thickness; h -= thickness; } else { x += thickness; w -= thickness; }
    start += row.length;
  }
  return out;
}
