export interface Sample { at: number; available: number }

const kept = 600000; // the samples that are shown, in milliseconds
const horizon = 60000; // those from which the rate is computed
const minimum = 10000; // the shortest time from which a rate is computed

// addSample appends a sample and removes those that are too old.
export function addSample(list: Sample[], s: Sample): Sample[] {
  const last = list[list.length - 1];
  return last && last.at >= s.at ? list : [...list, s].filter((o) => o.at > s.at - kept);
}

// rateOf returns the change per second as the slope of a regression line, and the duration of the samples in seconds. The
// rate is undefined while there are too few.
export function rateOf(all: Sample[]): { rate?: number; seconds: number } {
  const last = all[all.length - 1], list = all.filter((s) => s.at > last!.at - horizon), first = list[0];
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

const day = 86400;

// forecastOf extends a rate in a straight line, from now to the threshold if it is reached within a day, else for a minute. It returns the
// end of the line in seconds and its value, and as left the time to the threshold.
export function forecastOf(t: { available: number; threshold: number; capacity: number }, rate: number): { end: number; value: number; left?: number } {
  const left = rate < 0 ? (t.available - t.threshold) / -rate : 0;
  if (left > 0 && left < day) return { end: left, value: t.threshold, left };
  return { end: horizon / 1000, value: Math.min(t.capacity, Math.max(0, t.available + rate * horizon / 1000)) };
}
