export interface Sample { at: number; available: number }

const horizon = 60000; // the samples that count, in milliseconds
const minimum = 10000; // the shortest time from which a rate is computed

// addSample appends a sample and removes those that are too old.
export function addSample(list: Sample[], s: Sample): Sample[] {
  const last = list[list.length - 1];
  return last && last.at >= s.at ? list : [...list, s].filter((o) => o.at > s.at - horizon);
}

// rateOf returns the change per second as the slope of a regression line, and the duration of the samples in seconds. The
// rate is undefined while there are too few.
export function rateOf(list: Sample[]): { rate?: number; seconds: number } {
  const first = list[0], last = list[list.length - 1];
  if (!first || !last) return { seconds: 0 };
  const seconds = (last.at - first.at) / 1000;
  if (list.length < 3 || last.at - first.at < minimum) return { seconds };
  const meanAt = list.reduce((n, s) => n + (s.at - first.at) / 1000, 0) / list.length, mean = list.reduce((n, s) => n + s.available, 0) / list.length;
  let above = 0, below = 0;
  for (const s of list) {
    const d = (s.at - first.at) / 1000 - meanAt;
    above += d * (s.available - mean);
    below += d * d;
  }
  return { rate: below > 0 ? above / below : 0, seconds };
}
