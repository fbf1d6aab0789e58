import { useState } from "preact/hooks";

// useKeyedState returns state that becomes initial again when the key changes. An effect that resets a state would run
// after the first paint and undo a choice that the user made before.
export function useKeyedState<T>(key: string, initial: T): [T, (value: T) => void] {
  const [state, setState] = useState({ key, value: initial });
  return [state.key === key ? state.value : initial, (value) => setState({ key, value })];
}
