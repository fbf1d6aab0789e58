package journal

import "errors"

// Journal is written to by one process.
type Journal struct{}

// Options say how a journal is kept.
type Options struct {
	// Writer names the part that writes, e.g. scheduler: each writer of a directory has
	// files of its own.
	Writer string
	// FileBytes is how large a file gets before a new one is begun; Files is how many are kept.
	FileBytes int64
	Files     int
}

var errClosed = errors.New("the journal is closed")

// Append writes records and returns when they are on disk. Of a nil Journal it does nothing.
func (j *Journal) Append(...*Displacement) error { return nil }
