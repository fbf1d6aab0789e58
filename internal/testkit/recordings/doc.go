// Package recordings records inputs of schedulers for tests.
package recordings
