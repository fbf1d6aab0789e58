package decision

// ClusterEvents is a set of kinds of changes in the cluster that can undo a
// rejection. Each rule names the kinds that concern it (engine/placement); the
// scheduling machine says which kinds an event is; the queue brings them
// together.
type ClusterEvents uint32

// The kinds of changes. Those of nodes mean that a node became more
// schedulable, or other than it was.
const (
	NodeAdded                 ClusterEvents = 1 << iota
	NodeRemoved                             // lowers the minimum of a spread constraint
	NodeAllocatableChanged                  // more of some resource, or of pods
	NodeLabelsChanged                       // any difference
	NodeTaintsChanged                       // any difference
	NodeUncordoned                          // spec.unschedulable was lifted
	NodeFeaturesChanged                     // any difference in the declared features
	PodAssigned                             // a pod came to a node
	PodLabelsChanged                        // labels of an assigned pod changed
	PodScaledDown                           // an assigned pod asks for less
	PodTerminating                          // an assigned pod is being deleted: spreading does not count it any more
	PodRemoved                              // an assigned pod is gone, finished, or was forgotten
	SpreadGroupChanged                      // a Service, ReplicaSet, ... was added, changed or removed
	NamespaceLabelsChanged                  // a namespace was added or removed, or its labels changed
	PVCChanged                              // PersistentVolumeClaim
	PVChanged                               // PersistentVolume
	StorageClassChanged                     // StorageClass
	CSINodeChanged                          // CSINode
	CSIDriverChanged                        // CSIDriver
	CSIStorageCapacityChanged               // CSIStorageCapacity
	VolumeAttachmentChanged                 // VolumeAttachment
	BudgetChanged                           // PodDisruptionBudget: preemption may be possible now
	ResourceClaimChanged                    // ResourceClaim
	HoldEnded                               // a Hold that keeps an owner's pods off a node is over, changed or removed
	NumEvents                               = iota

	NoEvent  ClusterEvents = 0
	AnyEvent ClusterEvents = 1<<NumEvents - 1
)

// eventNames are the kinds as kube-scheduler labels them in
// queue_incoming_pods_total: the resource and what was done to it. The latter is
// left out here where it is Add, Update or Delete as the change says.
var eventNames = [NumEvents]string{
	"NodeAdd", "NodeDelete", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint",
	"NodeUpdateNodeTaint", "NodeUpdateNodeDeclaredFeature", "AssignedPodAdd", "AssignedPodUpdatePodLabel",
	"AssignedPodUpdatePodScaleDown", "AssignedPodUpdate", "AssignedPodDelete", "Group", "Namespace",
	"PersistentVolumeClaim", "PersistentVolume", "storage.k8s.io/StorageClass", "storage.k8s.io/CSINode",
	"storage.k8s.io/CSIDriver", "storage.k8s.io/CSIStorageCapacity", "storage.k8s.io/VolumeAttachment",
	"PodDisruptionBudget", "resource.k8s.io/ResourceClaim", "berth.dev/Hold",
}

// Action is what was done to the object of a change.
type Action uint8

// The actions.
const (
	Update Action = iota
	Add
	Delete
	NumActions
)

// EventName is kube-scheduler's name of a change of the kind with the given bit
// number. Groups, namespaces and budgets, which wake nobody there, are named alike.
func EventName(bit int, a Action) string {
	if ClusterEvents(1)<<bit < SpreadGroupChanged {
		return eventNames[bit]
	}
	return eventNames[bit] + [...]string{"Update", "Add", "Delete"}[a]
}

// Delta is a change with the object that changed.
type Delta struct {
	Events ClusterEvents
	// Old and New are the object as it was and as it is: pointers to values of
	// engine/model, nil when it was not there or is gone. A pod that takes room has its
	// NodeName set, also when it is only assumed; one without held room where it is
	// nominated. Both nil: nothing is known but the kinds.
	Old, New any
}

// Action is what was done to the object.
func (d *Delta) Action() Action {
	switch {
	case d.Old == nil && d.New != nil:
		return Add
	case d.Old != nil && d.New == nil:
		return Delete
	}
	return Update
}

// QueueingHint is whether a change can have undone the rejection of a pod.
type QueueingHint uint8

// The degrees of help.
const (
	QueueSkip    QueueingHint = iota
	QueueForNode              // if at all, then on the one node that it is about
	QueueForAnyNode
)
