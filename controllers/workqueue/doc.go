// Package workqueue runs controllers in production: Run provides a process (runner.Process) with queues of keys, workers
// and retries with backoff.
//
// Only one worker reconciles a key at a time. A key that is added meanwhile is reconciled once more. An error is
// logged and the key is retried after a growing delay. Conflicts are not logged, since they only mean that the cache
// lags behind.
package workqueue
