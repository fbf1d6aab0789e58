// Package runner defines what a process provides to its controllers: time, random names, goroutines, queues and
// periodic calls. Controllers do not use the package time or rand, or the go statement, for these.
package runner
