package decision

// ClusterEvents is a set of kinds of cluster events that may make an unschedulable pod
// schedulable. Each plugin registers the kinds that may undo its rejections.
type ClusterEvents uint32

// The kinds of cluster events. Where only an API kind is named, an object of it was added, changed or deleted.
const (
	NodeAdded                 ClusterEvents = 1 << iota
	NodeRemoved                             // may raise the minimum of a spread constraint
	NodeAllocatableChanged                  // more of some resource, or more pods
	NodeLabelsChanged                       // any change
	NodeTaintsChanged                       // any change
	NodeUncordoned                          // spec.unschedulable became false
	NodeFeaturesChanged                     // any change of the declared features
	PodAssigned                             // a pod was assumed on or bound to a node
	PodLabelsChanged                        // labels of an assigned pod changed
	PodScaledDown                           // an assigned pod requests less
	PodTerminating                          // an assigned pod has a deletionTimestamp; topology spreading no longer counts it
	PodRemoved                              // an assigned pod was deleted, finished or forgotten
	SpreadGroupChanged                      // a Service, ReplicationController, ReplicaSet or StatefulSet was added, changed or deleted
	NamespaceLabelsChanged                  // a namespace was added or deleted, or its labels changed
	PVCChanged                              // PersistentVolumeClaim
	PVChanged                               // PersistentVolume
	StorageClassChanged                     // StorageClass
	CSINodeChanged                          // CSINode
	CSIDriverChanged                        // CSIDriver
	CSIStorageCapacityChanged               // CSIStorageCapacity
	VolumeAttachmentChanged                 // VolumeAttachment
	BudgetChanged                           // PodDisruptionBudget: preemption may succeed now
	ResourceClaimChanged                    // ResourceClaim
	HoldEnded                               // an Avoid Hold expired, changed or was deleted
	NumEvents                               = iota

	NoEvent  ClusterEvents = 0
	AnyEvent ClusterEvents = 1<<NumEvents - 1
)

// eventNames are the resource and action as kube-scheduler labels them in
// queue_incoming_pods_total. EventName appends the action where an entry has none.
var eventNames = [NumEvents]string{
	"NodeAdd", "NodeDelete", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint",
	"NodeUpdateNodeTaint", "NodeUpdateNodeDeclaredFeature", "AssignedPodAdd", "AssignedPodUpdatePodLabel",
	"AssignedPodUpdatePodScaleDown", "AssignedPodUpdate", "AssignedPodDelete", "Group", "Namespace",
	"PersistentVolumeClaim", "PersistentVolume", "storage.k8s.io/StorageClass", "storage.k8s.io/CSINode",
	"storage.k8s.io/CSIDriver", "storage.k8s.io/CSIStorageCapacity", "storage.k8s.io/VolumeAttachment",
	"PodDisruptionBudget", "resource.k8s.io/ResourceClaim", "berth.dev/Hold",
}

// Action is what happened to the object of an event.
type Action uint8

// The actions.
const (
	Update Action = iota
	Add
	Delete
	NumActions
)

// EventName returns kube-scheduler's name of the event kind with a bit number and an
// action. Kinds that kube-scheduler does not have are named in the same way.
func EventName(bit int, a Action) string {
	if ClusterEvents(1)<<bit < SpreadGroupChanged {
		return eventNames[bit]
	}
	return eventNames[bit] + [...]string{"Update", "Add", "Delete"}[a]
}

// Delta is a cluster event with the object that changed.
type Delta struct {
	Events ClusterEvents
	// Old and New are pointers to values of engine/model: the object before and after the
	// change. Old is nil for an added object, New for a deleted one. An assigned pod, also an
	// assumed one, has NodeName set. Both are nil if only the event kinds are known.
	Old, New any
}

// Action returns what happened to the object.
func (d *Delta) Action() Action {
	switch {
	case d.Old == nil && d.New != nil:
		return Add
	case d.Old != nil && d.New == nil:
		return Delete
	}
	return Update
}

// QueueingHint is whether a cluster event may make an unschedulable pod schedulable.
type QueueingHint uint8

// The queueing hints.
const (
	QueueSkip    QueueingHint = iota
	QueueForNode              // at most on the node that the event is about
	QueueForAnyNode
)
