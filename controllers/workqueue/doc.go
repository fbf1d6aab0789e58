// Package workqueue provides what all controllers share: a queue of keys, workers that reconcile one key at a time,
// and retries with backoff. It also has Stepper, which runs the controllers that are state machines.
//
// Only one worker reconciles a key at a time. A key that is added meanwhile is reconciled once more. An error is
// logged and the key is retried after a growing delay. Conflicts are not logged, since they only mean that the cache
// lags behind.
package workqueue
