package decision

// Change is a set of kinds of changes in the cluster that can undo a
// rejection. Each rule names the kinds that concern it (engine/placement); the
// scheduling machine says which kinds an event is; the queue brings them
// together.
type Change uint32

// The kinds of changes. Those of nodes mean that a node became more
// schedulable, or other than it was.
const (
	NodeAdded         Change = 1 << iota
	NodeRemoved              // lowers the minimum of a spread constraint
	NodeAllocatable          // more of some resource, or of pods
	NodeLabels               // any difference
	NodeTaints               // any difference
	NodeSchedulable          // spec.unschedulable was lifted
	NodeFeatures             // any difference in the declared features
	PodAssigned              // a pod came to a node
	PodRelabelled            // labels of an assigned pod changed
	PodScaledDown            // an assigned pod asks for less
	PodRemoved               // an assigned pod is gone, finished, or was forgotten
	GroupChanged             // a Service, ReplicaSet, ... was added, changed or removed
	NamespaceRelabel         // a namespace was added or its labels changed
	ClaimChanged             // PersistentVolumeClaim
	VolumeChanged            // PersistentVolume
	ClassChanged             // StorageClass
	CSINodeChanged           // CSINode
	CSIDriverChanged         // CSIDriver
	CapacityChanged          // CSIStorageCapacity
	AttachmentChanged        // VolumeAttachment
	BudgetChanged            // PodDisruptionBudget: preemption may be possible now
	DevicesChanged           // ResourceClaim
	NumChanges               = iota

	NoChange  Change = 0
	AnyChange Change = 1<<NumChanges - 1
)

// changeNames are the labels of kube-scheduler's queue_incoming_pods_total.
var changeNames = [NumChanges]string{
	"NodeAdd", "NodeDelete", "NodeUpdateAllocatable", "NodeUpdateLabel", "NodeUpdateTaint", "NodeUpdateUnschedulable",
	"NodeUpdateDeclaredFeature", "AssignedPodAdd", "AssignedPodUpdateLabel", "AssignedPodScaleDown", "AssignedPodDelete",
	"GroupUpdate", "NamespaceUpdate", "PvcUpdate", "PvUpdate", "StorageClassUpdate", "CSINodeUpdate", "CSIDriverUpdate",
	"CSIStorageCapacityUpdate", "VolumeAttachmentUpdate", "PdbUpdate", "ResourceClaimUpdate",
}

// Delta is a change with the object that changed.
type Delta struct {
	Kinds Change
	// Old and New are the object as it was and as it is: pointers to values of
	// engine/model, nil when it was not there or is gone. A pod that takes room has its
	// NodeName set, also when it is only assumed; one without held room where it is
	// nominated. Both nil: nothing is known but the kinds.
	Old, New any
}

// ChangeName is the name of the kind with the given bit number.
func ChangeName(bit int) string { return changeNames[bit] }
