package displacementrecords

import (
	"time"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

const (
	component = "displacement-records"
	workers   = 4
	// defaultSettleDelay is how long the controller waits for the record of the actor that displaced the pod.
	defaultSettleDelay = 2 * time.Second
	// defaultBatchDelay is how long changes of an owner's pods are collected before records are written.
	defaultBatchDelay = 2 * time.Second
	// replacementTimeout is how long a record waits for a replacement.
	replacementTimeout = 30 * time.Minute
	// maxRecordAge is the age after which no record is written. The API server deletes Events after an hour.
	maxRecordAge = time.Hour
	// resyncInterval is the interval between two passes over all Holds.
	resyncInterval = 30 * time.Second
)

// Options configures the controller.
type Options struct {
	Holds   v1alpha1.Client  // nil: Holds are neither read nor written
	Journal *journal.Journal // nil: none
	// Backoff defines how long Avoid Holds last. With First 0 none are created.
	Backoff displacement.Backoff
	// OnDisplaced is called for each record that this controller writes first. It may be nil.
	OnDisplaced func(*journal.Displacement)
}
