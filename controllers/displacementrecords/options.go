package displacementrecords

import (
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

const (
	component = "displacement-records"
	workers   = 4
	// defaultSettleDelay is how long a record may take to come from who displaced the pod.
	defaultSettleDelay = 2 * time.Second
	// defaultBatchDelay is how long news of an owner's pods are gathered before records are written.
	defaultBatchDelay = 2 * time.Second
	// replacementTimeout is how long a record waits for a replacement.
	replacementTimeout = 30 * time.Minute
	// maxRecordAge is the age from which on nothing is told of a displacement any more: events live for an hour.
	maxRecordAge = time.Hour
	// sweepInterval is how often Holds are looked through.
	sweepInterval = 30 * time.Second
)

// Options are what the loop needs.
type Options struct {
	Client  kubernetes.Interface
	Factory informers.SharedInformerFactory // of pods and nodes; started here if it is not yet
	Holds   *v1alpha1.Client                // nil: no Hold is read or written
	Journal *journal.Journal                // nil: none
	// Backoff is how long Avoid Holds last; First 0: none are made.
	Backoff displacement.Backoff
	// OnDisplaced is told of each record that is written here first; may be nil.
	OnDisplaced func(*journal.Displacement)
	Log         klog.Logger
}
