let last = 0;

// notePanning notes that the user moves the map. Updates of its data wait, because each takes longer than a frame.
export function notePanning() { last = performance.now(); }

// sincePanning returns the time since the user moved the map, in milliseconds.
export function sincePanning(): number { return performance.now() - last; }
