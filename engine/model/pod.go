package model

import "time"

// SystemCriticalPriority is the value of the PriorityClass system-cluster-critical. Pods of this or a higher
// priority are critical.
const SystemCriticalPriority int32 = 2_000_000_000

// Pod is a pod as scheduling reads it: identity, node, status and the shared
// specification.
type Pod struct {
	Namespace, Name string
	UID             string
	Labels          Labels
	Spec            *PodSpec

	NodeName          string // where it is bound; empty while pending
	NominatedNodeName string // status.nominatedNodeName

	Created      time.Time
	Scheduled    time.Time // transition time of PodScheduled=True; zero if the condition is not True
	Started      time.Time // status.startTime; zero if unknown (preemption treats the pod as the youngest)
	Deleting     bool      // deletionTimestamp is set
	GraceSeconds int64     // deletion grace period in seconds
	Phase        Phase
	Ready        bool // condition Ready is True

	// Owner is the controller reference; zero if there is none.
	Owner Owner
	// Placeholder is set if this is not a pod, but the capacity that a Reserve Hold reserves
	// for a pod of Owner.
	Placeholder bool
	// DisruptionReason is the reason of a DisruptionTarget condition that is True.
	DisruptionReason string
	// Evicted is set if the node evicted or rejected the pod.
	Evicted *NodeEviction
	// UnschedulableReason is the reason of the PodScheduled=False condition.
	UnschedulableReason string
	// Mirror is set for a mirror pod, which represents a static pod in the API.
	Mirror bool
	// HasEmptyDir is set if the pod has an emptyDir volume, whose data is deleted with the pod.
	HasEmptyDir bool
	// DeferredResize is set while the node defers an in-place resize of the pod because it lacks capacity.
	DeferredResize *DeferredResize

	ResourceVersion string
}

// Key returns "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// TieKey returns the key that breaks ties between nodes with equal scores. It is the UID of
// the controller, so the node of a replacement is predictable before the pod exists. A pod
// without a controller has its own UID as key.
func (p *Pod) TieKey() string {
	if p.Owner.UID != "" {
		return p.Owner.UID
	}
	return p.UID
}

// Finished reports whether the pod has succeeded or failed, so that it no longer uses
// resources.
func (p *Pod) Finished() bool { return p.Phase == Succeeded || p.Phase == Failed }

// WithoutNomination returns the pod without its nominated node. kube-scheduler reserves
// resources only for nominated pods of its own profiles.
func (p *Pod) WithoutNomination() *Pod {
	if p.NominatedNodeName == "" {
		return p
	}
	copied := *p
	copied.NominatedNodeName = ""
	return &copied
}

// DeferredResize is a resize that a node has deferred. Spec.Requests include the desired requests.
type DeferredResize struct {
	// Current are the requests that the node counts until it admits the resize: the largest of allocated
	// and actual.
	Current Resources
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

// String returns the name of the phase in the API.
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
	NeverPreempts bool // preemptionPolicy is Never

	// Requests are the effective requests: the larger of the sum of containers and
	// sidecars and the peak of the init containers, plus overhead. Pod-level resources
	// override them. During a resize they are the largest of spec, allocated and actual.
	Requests Resources
	// Scoring are Requests with 100m CPU and 200MiB for each container without
	// such a request. Only score plugins use them.
	Scoring Resources
	// ScoringIncoming replaces Scoring in NodeResourcesFit's score of the incoming
	// pod; nil means Scoring. As in kube-scheduler, pod-level resources count only
	// for pods on a node.
	ScoringIncoming *Resources
	// BestEffort is set if no container has a request or limit of cpu or memory.
	BestEffort bool

	NodeSelector NodeSelector
	Tolerations  []Toleration
	Ports        []HostPort

	Affinity              []PodAffinityTerm
	AntiAffinity          []PodAffinityTerm
	PreferredAffinity     []WeightedPodAffinityTerm
	PreferredAntiAffinity []WeightedPodAffinityTerm

	Spread []SpreadConstraint

	// Images are the normalized names of the images that score ImageLocality:
	// of containers, init containers and image volumes, one entry per use.
	Images []string
	// ImageContainers is the number of containers and init containers, which scales
	// ImageLocality's thresholds.
	ImageContainers int

	Claims []PodClaim
	Disks  []InTreeDisk
	// Inline are in-tree volumes in the pod specification that are migrated to a CSI driver.
	Inline []CSIVolume

	Gates           []string // scheduling gates, in order
	ResourceClaims  []PodResourceClaim
	SchedulingGroup string   // podGroupName; empty when none
	Features        []string // node features that the pod requires, sorted

	ParseErrors []ParseError
}

// ParseError is a malformed part of an accepted object.
type ParseError struct {
	Kind    ParseErrorKind
	Path    string // e.g. "spec.affinity.podAffinity...[0].labelSelector"
	Message string // text of kube-scheduler
}

// ParseErrorKind is the kind of field that is malformed; it determines the plugin that
// reports it.
type ParseErrorKind uint8

// The kinds.
const (
	ParseErrorPodAffinity           ParseErrorKind = iota // a required or preferred inter-pod term's selector
	ParseErrorHardSpread                                  // a hard spread constraint's selector
	ParseErrorPreferredNodeAffinity                       // a preferred node affinity term
	ParseErrorRequiredNodeAffinity                        // a required node affinity term
	ParseErrorRequests                                    // a quantity
	ParseErrorResourceClaimName                           // a claim reference
	ParseErrorSoftSpread                                  // a soft spread constraint's selector
)

// HostPort is a host port of a container.
type HostPort struct {
	IP       string // "0.0.0.0" if not set
	Protocol string // TCP, UDP, SCTP
	Port     int32
}

// PodClaim is a pod volume that refers to a PersistentVolumeClaim.
type PodClaim struct {
	Volume    string // name of the volume
	Claim     string // name of the claim in the pod's namespace
	Ephemeral bool   // generic ephemeral volume: the pod must own the claim
}

// InTreeDisk is a volume of one of the legacy in-tree kinds that VolumeRestrictions
// checks.
type InTreeDisk struct {
	Kind     InTreeDiskKind
	ID       string   // GCE pdName, AWS volume ID, iSCSI iqn, RBD pool/image
	Monitors []string // RBD only
	ReadOnly bool
}

// InTreeDiskKind is the kind of an in-tree disk.
type InTreeDiskKind uint8

// The kinds.
const (
	GCEDisk InTreeDiskKind = iota
	AWSDisk
	ISCSIDisk
	RBDDisk
)

// PodResourceClaim is an entry of spec.resourceClaims.
type PodResourceClaim struct {
	Name     string // of the entry
	Claim    string // resourceClaimName, or the name of the claim generated from Template; empty if not generated yet
	Template string // resourceClaimTemplateName, or empty
}
