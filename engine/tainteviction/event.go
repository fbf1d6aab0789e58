package tainteviction

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Event is something that a machine is told.
type Event interface{ event() }

// Node is a node as it is now. Taints other than NoExecute do not matter here.
type Node struct {
	Name   string
	Taints []model.TimedTaint
}

// NodeDeleted says that there is no such node any more. Its pods are no concern of taints then.
type NodeDeleted struct{ Name string }

// PodDeleted says that there is no such pod any more.
type PodDeleted struct{ Namespace, Name string }

// EvictFailed says that an Evict was not carried out, and may be asked for again.
type EvictFailed struct{ Namespace, Name, UID string }

func (Node) event()        {}
func (NodeDeleted) event() {}
func (Pod) event()         {}
func (PodDeleted) event()  {}
func (EvictFailed) event() {}

// Effect is something to be done: an Evict or a Cancel.
type Effect interface{ effect() }

// Evict asks for a pod to be displaced, with its own grace and past disruption budgets.
type Evict struct {
	Pod   Pod
	Taint model.Taint // the one that drives it out
	Added time.Time   // when that was put on, or seen first
	Due   time.Time
	// Tolerated: the pod bears the taint for Seconds, which are over.
	Tolerated bool
	Seconds   int64
}

// Cancel says that a pod that was to leave later stays: it is worth an event.
type Cancel struct {
	Pod Pod
	Due time.Time // when it would have been due
}

func (Evict) effect()  {}
func (Cancel) effect() {}
