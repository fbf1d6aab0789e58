// Package runner provides what controllers take from the process that runs them: time, random names, goroutines
// and periodic calls. Controllers do not use the package time or rand, or the go statement, for these.
package runner
