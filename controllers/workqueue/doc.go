// Package workqueue is what the loops over the API have in common: a queue of keys, workers
// that bring one key at a time up to date, and retries that slow down.
//
// It decides nothing. A key is worked on by one worker at a time; one that is added
// meanwhile is worked on once more. An error is logged, unless it is a conflict, which only says that
// the cache is behind, and the key comes again after a growing pause.
package workqueue
