package nodepressure

import "github.com/berthproject/berth/engine/model"

// Effect is an action that the caller must execute, or a report to it. Effects must be executed in
// order.
type Effect interface{ effect() }

// ThresholdMet is the event EvictionThresholdMet on the node: resources are about to be reclaimed.
type ThresholdMet struct {
	Signal   Signal
	Resource string
}

// ReclaimNodeResources deletes unused containers and images. The caller then calls
// Machine.Reclaimed with a new Observation, whether the deletion succeeded or not. It may call Step
// meanwhile.
type ReclaimNodeResources struct {
	Containers bool // terminated containers
	Images     bool // images without a container, after the containers
}

// Evict evicts a pod: its status becomes Failed with reason Evicted and its containers are killed
// after Grace seconds.
type Evict struct {
	Pod     *model.Pod
	Message string // message of the status and of the pod's event Evicted
	Grace   int64  // seconds; overrides the pod's
	// Cause is the metric label: the signal, or the limit that was exceeded (emptydirfs.limit,
	// persistentvolumeclaim.limit, ephemeralpodfs.limit, ephemeralcontainerfs.limit).
	Cause string
	// Annotations of the event for a threshold; nil if the pod has no usage statistics.
	Annotations []model.Label
	// Condition is set if the pod gets the condition DisruptionTarget, reason TerminationByKubelet, with Message.
	Condition bool

	lastUsage int64 // last usage of memory or processes
	origin    evictionOrigin
}

// NoVictim reports that a threshold is met and no pod may be evicted for it.
type NoVictim struct{ Signal Signal }

// ConditionChanged reports that a node condition changed; see Machine.Conditions.
type ConditionChanged struct{ Pressure model.Pressure }

func (ThresholdMet) effect()         {}
func (ReclaimNodeResources) effect() {}
func (Evict) effect()                {}
func (NoVictim) effect()             {}
func (ConditionChanged) effect()     {}

// EvictionMessagePrefix is the start of the message of an eviction for a threshold. The name of the
// resource and a full stop follow it.
const EvictionMessagePrefix = "The node was low on resource: "

// Reasons, annotations and causes, as in the kubelet.
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
	CauseClaim                 = "persistentvolumeclaim.limit" // not in the kubelet
)
