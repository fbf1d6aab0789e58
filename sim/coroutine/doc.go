// Package coroutine runs straight, synchronous code under virtual time. A coroutine runs until it waits, then
// returns control to the event that started or resumed it. One goroutine is runnable at a time, so a run stays a
// function of its seed.
//
// A killed coroutine never returns from its wait: as in a killed process, no code after the wait runs, except
// deferred functions.
package coroutine
