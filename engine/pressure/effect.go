package pressure

import (
	"github.com/berthproject/berth/engine/model"
)

// Effect is something to do, in the order given.
type Effect interface{ effect() }

// Announce is the event EvictionThresholdMet on the node: something is about to be
// reclaimed.
type Announce struct {
	Signal   Signal
	Resource string
}

// Collect asks for what nobody uses to be deleted. Machine.Collected must be called when
// that is done, whether it went well or not, with new figures; Step may be called meanwhile.
type Collect struct {
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

	holds int64 // of memory or processes
}

// Unable says that a threshold is met and no pod may be evicted for it.
type Unable struct{ Signal Signal }

// Changed says that a condition of the node has changed: see Machine.Conditions.
type Changed struct{ Pressure model.Pressure }

func (Announce) effect() {}
func (Collect) effect()  {}
func (Evict) effect()    {}
func (Unable) effect()   {}
func (Changed) effect()  {}

// Reasons that statuses carry.
const (
	ReasonEvicted         = "Evicted"
	ReasonThresholdMet    = "EvictionThresholdMet"
	ReasonDisruption      = "TerminationByKubelet"
	AnnotationStarved     = "starved_resource"
	AnnotationContainers  = "offending_containers"
	AnnotationUsage       = "offending_containers_usage"
	AnnotationPod         = "offending_pod"
	AnnotationPodUsage    = "offending_pod_usage"
	CauseEmptyDir         = "emptydirfs.limit"
	CausePodStorage       = "ephemeralpodfs.limit"
	CauseContainerStorage = "ephemeralcontainerfs.limit"
)
