package records

import (
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/internal/journal"
)

const (
	component = "displacement-records"
	workers   = 4
	// settle is how long a record may take to come from who displaced the pod.
	settle = 2 * time.Second
	// gather is how long news of an owner's pods are gathered before records are written.
	gather = 2 * time.Second
	// openFor is how long a record waits for a replacement.
	openFor = 30 * time.Minute
	// tooOld is the age from which on nothing is told of a displacement any more: events live for an hour.
	tooOld = time.Hour
	// sweepEvery is how often Holds are looked through.
	sweepEvery = 30 * time.Second
)

// Options are what the loop needs.
type Options struct {
	Client  kubernetes.Interface
	Factory informers.SharedInformerFactory // of pods and nodes; started here if it is not yet
	Holds   *v1alpha1.Client                // nil: no Hold is read or written
	Journal *journal.Journal                // nil: none
	// Backoff is how long Avoid Holds last; First 0: none are made.
	Backoff displace.Backoff
	// Count is told of each record that is written here first; may be nil.
	Count func(*journal.Displacement)
	Log   klog.Logger
}
