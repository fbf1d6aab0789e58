package fastpath

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// equivalenceClass is everything that placement reads of a pod, in compiled form. Pods of
// one class get the same decision, except for ties.
type equivalenceClass struct {
	podClass   *cluster.PodClass
	spec       *model.PodSpec
	lastUsed   uint64 // Engine.clock at the last use
	lastLogPos int64  // end of the change log at the last decision
	lastClock  uint64 // Engine.clock at the last decision
	decided    bool   // the engine has decided about a pod of the class
	cache      *scoreCache

	reference bool // the reference evaluator decides
	hasNames  bool // the search is limited to names
	names     []string

	groupsVersion   uint64 // version of the spread groups of the namespace
	defaultSelector string // key of the selector of default spreading
	numTerms        int    // number of terms of other pods that match the class

	static  *cluster.NodeValues // rejection, or PreferNoSchedule taints and preferred affinity; see packStatic
	prefers bool                // the pod or the profile has preferred node affinity
	score   scoreParams
	ports   []model.HostPort
	scalars []model.Scalar

	images []string            // without duplicates, in the order of mask
	mask   *cluster.NodeValues // bit mask of the images on a node

	domainSlots          []domainSlot
	countSlots           []countSlot
	usesFlags            bool // slotFlags and slotAffinityScore are in use
	usesDomains          bool // slots other than slotStatic and slotImages are in use
	slots                int
	usedSlots            []uint8
	hard                 []hardConstraint
	soft                 []softConstraint
	strict               bool              // nodes without all keys of soft constraints are ignored
	hostnames            *cluster.Topology // set if soft constraints need the presence of the hostname label
	affinity             []affinityTerm
	selfAffinity         bool // the pod matches its own affinity
	antiAffinity         []affinityTerm
	existingAntiAffinity []affinityTerm // required anti-affinity of other pods
	scoringTerms         []affinityTerm

	hasPartition      bool // partition is set
	partition         partitionKey
	base              *equivalenceClass // class whose cache may be shared
	exceptionCounters []*cluster.DomainCounter
	requiredLabels    []*cluster.Topology // sharing requires that all nodes have these labels
	defaultFlags      int32               // flags of nodes without a count in exceptionCounters
	exceptionCost     int64               // accumulated cost of exceptions beyond that of a separate cache
}

// Slots of a bucketKey; topologies and counts follow.
const (
	slotStatic = iota
	slotImages
	slotFlags
	slotAffinityScore
	slotFirst
	maxSlots = 14
)

// The bits of slotFlags.
const (
	flagAffinityLabel = 1 << iota // a fine-grained affinity key is missing
	flagAffinityNone              // a fine-grained domain has no matching pod
	flagAntiAffinity
	flagExistingAntiAffinity
	flagHostname // has the hostname label
)

// bucketKey is everything that a class reads of a node except its own resource score.
// Nodes with equal keys are filtered and scored alike in all other respects.
type bucketKey [maxSlots]int32

// domainSlot stores the domain of a node in a slot.
type domainSlot struct {
	topology *cluster.Topology
	slot     int
}

// countSlot stores the count of a node in a slot, plus present if it has the label.
type countSlot struct {
	counter *cluster.DomainCounter
	slot    int
	present int32
}

// affinityTerm is a domain counter with a weight. With slot 0 the topology is fine-grained
// (cluster.Topology.FineGrained), and its result is in slotFlags or slotAffinityScore.
type affinityTerm struct {
	counter *cluster.DomainCounter
	slot    int
	weight  int64
}

// hardConstraint is a hard spread constraint. The slot holds the domain, or for a
// fine-grained topology its count plus one; 0 if the label is missing.
type hardConstraint struct {
	counter     *cluster.DomainCounter
	slot        int
	fineGrained bool
	maxSkew     int64
	minDomains  int
	selfMatch   int64
}

// softConstraint is a soft spread constraint. The slot holds the domain, or for the
// hostname key the number of matching pods on the node.
type softConstraint struct {
	counter  *cluster.DomainCounter
	slot     int
	host     bool    // the topology key is HostnameKey
	skew     float64 // maxSkew-1
	topology *cluster.Topology
}

// hasEmptyDomainConflict reports whether a soft constraint may apply both to nodes without
// its key and to nodes with an empty value. kube-scheduler treats them as one domain,
// Topology as two.
func (ec *equivalenceClass) hasEmptyDomainConflict() bool {
	for i := range ec.soft {
		if !ec.strict && !ec.soft[i].host && ec.soft[i].topology.HasEmpty() {
			return true
		}
	}
	return false
}

// specClasses are the classes of a specification, by pod class and, for default spreading,
// by owner.
type specClasses struct {
	byOwner bool // the owner matters
	classes []ownerClass
}

type ownerClass struct {
	owner model.Owner
	class *equivalenceClass
}

// classOf returns the class of a pod, creating it if necessary.
func (e *Engine) classOf(pod *model.Pod) *equivalenceClass {
	x := e.index
	if e.epoch != x.Epoch {
		e.dropClasses()
	}
	if e.numClasses >= e.maxClasses {
		e.dropOldClasses()
	}
	if e.specBytes > e.maxSpecBytes {
		e.dropClasses()
	}
	entry := e.classesBySpec[pod.Spec]
	if entry == nil {
		entry = e.specClassesOf(pod)
	}
	podClass := x.Class(pod.Namespace, pod.Labels)
	var owner model.Owner
	if entry.byOwner {
		owner = framework.SpreadingOwner(pod)
	}
	for i := range entry.classes {
		if o := &entry.classes[i]; o.class.podClass == podClass && o.owner == owner {
			o.class = e.refreshClass(o.class, pod)
			o.class.lastUsed = e.clock
			return o.class
		}
	}
	ec := e.compileClass(pod, podClass)
	ec.lastUsed = e.clock
	if len(entry.classes) >= maxClassesPerSpec {
		e.dropOldestClass(entry)
	}
	entry.classes = append(entry.classes, ownerClass{owner, ec})
	e.numClasses++
	return ec
}

// maxClassesPerSpec limits the classes of a specification, which are searched linearly.
const maxClassesPerSpec = 64

func (e *Engine) dropOldestClass(entry *specClasses) {
	oldest := 0
	for i := range entry.classes {
		if entry.classes[i].class.lastUsed < entry.classes[oldest].class.lastUsed {
			oldest = i
		}
	}
	e.dropCache(entry.classes[oldest].class)
	entry.classes = slices.Delete(entry.classes, oldest, oldest+1)
	e.numClasses--
}

// specClassesOf adds and returns the entry of a new specification, and tracks its selectors.
func (e *Engine) specClassesOf(pod *model.Pod) *specClasses {
	entry := &specClasses{byOwner: e.profile.SpreadsByOwner(pod.Spec)}
	framework.TrackSelectors(e.index, pod.Spec)
	e.classesBySpec[pod.Spec] = entry
	e.specBytes += pod.Spec.Bytes()
	return entry
}

// refreshClass compiles a class again if the default spreading selector or the terms of
// other pods that match it have changed.
func (e *Engine) refreshClass(ec *equivalenceClass, pod *model.Pod) *equivalenceClass {
	version := e.index.SpreadGroupsVersion(pod.Namespace)
	if ec.groupsVersion != version && e.defaultSelectorKey(pod) == ec.defaultSelector {
		ec.groupsVersion = version
	}
	if ec.groupsVersion == version && ec.numTerms == len(e.index.TermsMatching(ec.podClass)) {
		return ec
	}
	e.dropCache(ec)
	compiled := e.compileClass(pod, ec.podClass)
	compiled.decided, compiled.lastLogPos, compiled.lastClock = ec.decided, ec.lastLogPos, ec.lastClock
	return compiled
}

// defaultSelectorKey returns a key of the selector for default spreading; empty if the pod
// has constraints or the profile has no default constraints.
func (e *Engine) defaultSelectorKey(pod *model.Pod) string {
	return e.defaultSelectorKeyOf(&framework.Evaluation{State: e.state, Profile: e.profile, Pod: pod})
}

func (e *Engine) defaultSelectorKeyOf(ev *framework.Evaluation) string {
	if len(ev.Pod.Spec.Spread) > 0 || len(e.profile.DefaultConstraints()) == 0 {
		return ""
	}
	return string(cluster.AppendSelector(nil, ev.DefaultSelector()))
}

// dropOldClasses drops classes that were not used recently.
func (e *Engine) dropOldClasses() {
	e.numClasses = 0
	for spec, entry := range e.classesBySpec {
		entry.classes = slices.DeleteFunc(entry.classes, func(o ownerClass) bool {
			unused := e.clock-o.class.lastUsed > uint64(e.maxClasses)/2
			if unused {
				e.dropCache(o.class)
			}
			return unused
		})
		e.numClasses += len(entry.classes)
		if len(entry.classes) == 0 {
			delete(e.classesBySpec, spec)
			e.specBytes -= spec.Bytes()
		}
	}
	for key, b := range e.baseClasses {
		if e.clock-b.lastUsed > uint64(e.maxClasses)/2 {
			e.dropCache(b)
			delete(e.baseClasses, key)
		}
	}
}
