package nodepressure

import (
	"github.com/berthproject/berth/engine/model"
)

// Effect is something to do, in the order given.
type Effect interface{ effect() }

// ThresholdMet is the event EvictionThresholdMet on the node: something is about to be
// reclaimed.
type ThresholdMet struct {
	Signal   Signal
	Resource string
}

// ReclaimNodeResources asks for what nobody uses to be deleted. Machine.Collected must be called when
// that is done, whether it went well or not, with new figures; Step may be called meanwhile.
type ReclaimNodeResources struct {
	Containers bool // dead containers
	Images     bool // images without a container, after the containers
}

// Evict ends a pod: its status becomes Failed with reason Evicted, its containers are
// killed after Grace seconds.
type Evict struct {
	Pod     *model.Pod
	Message string // of the status and of the pod's event Evicted
	Grace   int64  // seconds; overrides the pod's
	// Cause is what metrics count: the signal's name, or which limit was passed
	// (emptydirfs.limit, ephemeralpodfs.limit, ephemeralcontainerfs.limit).
	Cause string
	// Annotations of the event; nil when nothing is known of the pod.
	Annotations []model.Label
	// Condition: the pod gets DisruptionTarget, reason TerminationByKubelet, with Message.
	Condition bool

	lastUsage int64 // of memory or processes
}

// NoVictim says that a threshold is met and no pod may be evicted for it.
type NoVictim struct{ Signal Signal }

// ConditionChanged says that a condition of the node has changed: see Machine.Conditions.
type ConditionChanged struct{ Pressure model.Pressure }

func (ThresholdMet) effect()         {}
func (ReclaimNodeResources) effect() {}
func (Evict) effect()                {}
func (NoVictim) effect()             {}
func (ConditionChanged) effect()     {}

// Reasons that statuses carry.
const (
	ReasonEvicted              = "Evicted"
	ReasonThresholdMet         = "EvictionThresholdMet"
	ReasonTerminationByKubelet = "TerminationByKubelet"
	AnnotationStarvedResource  = "starved_resource"
	AnnotationContainers       = "offending_containers"
	AnnotationContainersUsage  = "offending_containers_usage"
	AnnotationPod              = "offending_pod"
	AnnotationPodUsage         = "offending_pod_usage"
	CauseEmptyDir              = "emptydirfs.limit"
	CausePodStorage            = "ephemeralpodfs.limit"
	CauseContainerStorage      = "ephemeralcontainerfs.limit"
)
