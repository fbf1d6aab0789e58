// Package workqueue runs controllers in production: Run provides a process (runner.Process) with queues of keys, workers
// and retries with backoff.
//
// Only one worker reconciles a key at a time. It reconciles a key that is added meanwhile once more. After an error it
// logs the error and retries the key after a growing delay. It does not log conflicts, since they only mean that the
// cache lags behind.
package workqueue
