package tainteviction

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Event is the current state of a Node or Pod, or one of the types below.
type Event interface{ event() }

// Node is the current state of a node. Only its NoExecute taints matter.
type Node struct {
	Name   string
	Taints []model.TimedTaint
}

// NodeDeleted reports that a node was deleted. Taints no longer affect its pods.
type NodeDeleted struct{ Name string }

// PodDeleted reports that a pod was deleted.
type PodDeleted struct{ Namespace, Name string }

// EvictFailed reports that an Evict failed.
type EvictFailed struct{ Namespace, Name, UID string }

func (Node) event()        {}
func (NodeDeleted) event() {}
func (Pod) event()         {}
func (PodDeleted) event()  {}
func (EvictFailed) event() {}

// Effect is an Evict or a Cancel.
type Effect interface{ effect() }

// Evict evicts a pod with its own grace period, regardless of disruption budgets.
type Evict struct {
	Pod   Pod
	Taint model.Taint // the taint that evicts it
	Added time.Time   // when the taint was added or first observed
	Due   time.Time
	// Tolerated is set if the pod tolerated the taint for Seconds.
	Tolerated bool
	Seconds   int64 // counted from Added or from the binding, whichever is later
}

// Cancel reports that a planned eviction was cancelled, for an event.
type Cancel struct {
	Pod Pod
	Due time.Time // when it would have been due
}

func (Evict) effect()  {}
func (Cancel) effect() {}
