package model

import "time"

// Pod is what scheduling reads of a pod: its identity, where it is, and the
// shared specification.
type Pod struct {
	Namespace, Name string
	UID             string
	Labels          Labels
	Spec            *PodSpec

	NodeName          string // where it is bound; empty while pending
	NominatedNodeName string // status.nominatedNodeName

	Created      time.Time
	Scheduled    time.Time // since when PodScheduled is True; zero when it is not
	Started      time.Time // status.startTime; zero when unknown ("now" to preemption)
	Deleting     bool      // deletionTimestamp is set
	GraceSeconds int64     // seconds it may take to die once it is deleting
	Phase        Phase
	Ready        bool // condition Ready is True

	// Owner is the controlling owner reference; zero when there is none.
	Owner Owner
	// Placeholder: it is no pod, but the room that a Hold reserves for one of Owner's.
	Placeholder bool
	// DisruptionReason is the reason of a DisruptionTarget condition that is True.
	DisruptionReason string
	// Evicted is how its node threw it out; nil when it did not.
	Evicted *NodeEviction
	// UnschedulableReason is the reason of the PodScheduled=False condition, so that a
	// shell needs not write again what is already there.
	UnschedulableReason string
	// Mirror: it stands for a static pod, which its node runs whatever the API says.
	Mirror bool
	// HasEmptyDir: it has an emptyDir, which goes with it.
	HasEmptyDir bool

	ResourceVersion string
}

// Key is "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// TieKey is what decides between nodes that are equally good for the pod: its
// controller's uid, so that the place of a replacement can be foretold before it has a uid
// of its own, and without a controller its own.
func (p *Pod) TieKey() string {
	if p.Owner.UID != "" {
		return p.Owner.UID
	}
	return p.UID
}

// Finished says that the pod has run to its end and takes no room any more.
func (p *Pod) Finished() bool { return p.Phase == Succeeded || p.Phase == Failed }

// WithoutNomination is the pod without its nomination: itself when it has none.
// kube-scheduler keeps room only for the pods of schedulers that it has a profile of.
func (p *Pod) WithoutNomination() *Pod {
	if p.NominatedNodeName == "" {
		return p
	}
	q := *p
	q.NominatedNodeName = ""
	return &q
}

// Phase is a pod's phase.
type Phase uint8

// The phases of a pod.
const (
	Pending Phase = iota
	Running
	Succeeded
	Failed
	UnknownPhase
)

// String is the phase's name in the API.
func (p Phase) String() string {
	switch p {
	case Pending:
		return "Pending"
	case Running:
		return "Running"
	case Succeeded:
		return "Succeeded"
	case Failed:
		return "Failed"
	}
	return "Unknown"
}

// Owner is a controlling owner reference.
type Owner struct {
	APIVersion, Kind, Name, UID string
}

// PodSpec is everything of a specification that placement, admission and
// preemption read. Equal specifications share one value.
type PodSpec struct {
	SchedulerName string
	Priority      int32
	NeverPreempts bool // preemptionPolicy: Never

	// Requests are the effective ones: the larger of the sum of containers and
	// sidecars and the peak of the init containers, plus overhead; pod-level
	// resources override; while a resize is in flight the larger of spec,
	// allocated and actual.
	Requests Resources
	// Scoring are Requests with 100m CPU and 200MiB for each container that asks
	// for none, which only scoring counts.
	Scoring Resources
	// ScoringIncoming is what NodeResourcesFit's score counts of a pod that is yet to
	// be placed, where that is not Scoring (nil: it is): kube-scheduler leaves
	// pod-level resources out there, while it counts them on a node.
	ScoringIncoming *Resources
	// BestEffort: no container asks for cpu or memory, nor limits them.
	BestEffort bool

	NodeSelector NodeSelector
	Tolerations  []Toleration
	Ports        []HostPort

	Affinity              []PodAffinityTerm
	AntiAffinity          []PodAffinityTerm
	PreferredAffinity     []WeightedPodAffinityTerm
	PreferredAntiAffinity []WeightedPodAffinityTerm

	Spread []SpreadConstraint

	// Images are the normalised names of the images that score ImageLocality:
	// of containers, init containers and image volumes, one entry a use.
	Images []string
	// ImageContainers is the number that scales ImageLocality's thresholds: of
	// containers and init containers, without image volumes.
	ImageContainers int

	Claims []PodClaim
	Disks  []InTreeDisk
	// Inline are in-tree volumes of the pod itself that a CSI driver stands in for.
	Inline []CSIVolume

	Gates           []string // scheduling gates, in order
	ResourceClaims  []PodResourceClaim
	SchedulingGroup string   // podGroupName; empty when none
	Features        []string // node features that the pod needs, sorted

	ParseErrors []ParseError
}

// ParseError is a malformed part of an accepted object.
type ParseError struct {
	Kind    ParseErrorKind
	Path    string // e.g. "spec.affinity.podAffinity...[0].labelSelector"
	Message string // kube-scheduler's words
}

// ParseErrorKind says which rule stumbles over a Fault.
type ParseErrorKind uint8

// The places of faults.
const (
	ParseErrorPodAffinity           ParseErrorKind = iota // a required or preferred inter-pod term's selector
	ParseErrorHardSpread                                  // a hard spread constraint's selector
	ParseErrorPreferredNodeAffinity                       // a preferred node affinity term
	ParseErrorRequiredNodeAffinity                        // a required node affinity term
	ParseErrorRequests                                    // a quantity
	ParseErrorResourceClaimName                           // a claim reference
	ParseErrorSoftSpread                                  // a soft spread constraint's selector
)

// HostPort is a port of the node that a container takes.
type HostPort struct {
	IP       string // "0.0.0.0" when not given
	Protocol string // TCP, UDP, SCTP
	Port     int32
}

// PodClaim is a volume that refers to a PersistentVolumeClaim.
type PodClaim struct {
	Volume    string // name of the volume
	Claim     string // name of the claim, in the pod's namespace
	Ephemeral bool   // generic ephemeral volume: the claim must be owned by the pod
}

// InTreeDisk is a volume of one of the legacy in-tree kinds whose sharing
// VolumeRestrictions checks.
type InTreeDisk struct {
	Kind     InTreeDiskKind
	ID       string   // GCE pdName, AWS volume id, iSCSI iqn, RBD pool/image
	Monitors []string // RBD only
	ReadOnly bool
}

// InTreeDiskKind tells the legacy kinds apart.
type InTreeDiskKind uint8

// The legacy kinds.
const (
	GCEDisk InTreeDiskKind = iota
	AWSDisk
	ISCSIDisk
	RBDDisk
)

// PodResourceClaim is an entry of spec.resourceClaims.
type PodResourceClaim struct {
	Name     string // of the entry
	Claim    string // resourceClaimName, or that of the claim made by Template; empty: not made yet
	Template string // resourceClaimTemplateName, or empty
}
