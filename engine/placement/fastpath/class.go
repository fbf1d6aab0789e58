package fastpath

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// equivalenceClass is what placement reads of a pod, compiled: two pods of one shape are
// decided alike, but for ties.
type equivalenceClass struct {
	podClass   *cluster.PodClass
	spec       *model.PodSpec
	lastUsed   uint64 // Engine.clock
	lastLogPos int64  // log position when last decided
	lastClock  uint64 // Engine.clock then
	seen       bool   // decided before
	cache      *scoreCache

	reference bool // goes to the plain path
	hasNames  bool // by node names
	names     []string

	groupsVersion   uint64 // version of the namespace's groups
	defaultSelector string // the selector that they give for default spreading
	numTerms        int    // number of other pods' terms that act on the class

	static  *cluster.NodeValues // verdict, or soft taints and preference, see packStatic
	prefers bool
	score   scoreParams
	ports   []model.HostPort
	scalars []model.Scalar

	images []string            // different ones, as in the mask
	mask   *cluster.NodeValues // which of them a node has

	domainSlots          []domainSlot
	countSlots           []countSlot
	usesFlags            bool // slotFlags and slotDraw say something
	usesDomains          bool // anything but slotStatic and slotImages says something
	slots                int
	reads                []uint8 // the slots in use
	hard                 []hardConstraint
	soft                 []softConstraint
	strict               bool              // nodes without all keys of soft constraints do not take part
	hostnames            *cluster.Topology // presence of the host name matters to soft
	affinity             []affinityTerm
	selfAffinity         bool // would be the first of a group that is affine to itself
	antiAffinity         []affinityTerm
	existingAntiAffinity []affinityTerm // other pods' required anti-affinity
	scoringTerms         []affinityTerm

	hasPartition      bool // has a site key
	partition         partitionKey
	base              *equivalenceClass // whose view it may share
	exceptionCounters []*cluster.DomainCounter
	requiredLabels    []*cluster.Topology // it shares only while all nodes have these
	defaultFlags      int32               // of nodes that no spot counts on
	exceptionCost     int64               // how much more lifting has cost than a view would have
}

// The first slots of a vector; columns and fine counts follow.
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
	flagAffinityLabel = 1 << iota // a fine affinity key is missing
	flagAffinityNone              // a fine domain has no match
	flagAntiAffinity
	flagExistingAntiAffinity
	flagHostname // has the host name label
)

// bucketKey is all that a shape reads of a node but its own part of the score:
// nodes of equal vectors are judged and scored alike in all else.
type bucketKey [maxSlots]int32

// domainSlot puts a node's domain into a slot.
type domainSlot struct {
	topology *cluster.Topology
	slot     int
}

// countSlot puts a node's count into a slot, plus present where it has the label.
type countSlot struct {
	counter *cluster.DomainCounter
	slot    int
	present int32
}

// affinityTerm is a counter that attracts or repels. With slot 0 its column is fine, and
// what it says of a node is in the flags or in slotDraw.
type affinityTerm struct {
	counter *cluster.DomainCounter
	slot    int
	weight  int64
}

// hardConstraint is a hard constraint. The slot holds the domain, or, when the
// column is fine, the domain's count plus one; 0 where the label is missing.
type hardConstraint struct {
	counter    *cluster.DomainCounter
	slot       int
	fine       bool
	maxSkew    int64
	minDomains int
	selfMatch  int64
}

// softConstraint is a soft constraint. The slot holds the domain, or, for the host
// name, the number of matching pods on the node itself.
type softConstraint struct {
	counter  *cluster.DomainCounter
	slot     int
	host     bool
	skew     float64 // maxSkew-1
	topology *cluster.Topology
}

// hasEmptyDomainConflict says whether a soft constraint meets nodes that lack its key beside ones
// with an empty value. The two are one domain then, which columns keep apart.
func (ec *equivalenceClass) hasEmptyDomainConflict() bool {
	for i := range ec.soft {
		if !ec.strict && !ec.soft[i].host && ec.soft[i].topology.HasEmpty() {
			return true
		}
	}
	return false
}

// specClasses are the shapes of a specification: one for each class of labels
// and, where default spreading asks, each owner.
type specClasses struct {
	byOwner bool // the owner matters
	classes []ownerClass
}

type ownerClass struct {
	owner model.Owner
	class *equivalenceClass
}

// classOf finds or makes a pod's shape.
func (e *Engine) classOf(pod *model.Pod) *equivalenceClass {
	x := e.index
	if e.epoch != x.Epoch {
		e.dropClasses()
	}
	if e.numClasses >= e.maxClasses {
		e.dropOldClasses()
	}
	ss := e.classesBySpec[pod.Spec]
	if ss == nil {
		ss = e.specClassesOf(pod)
	}
	class := x.Class(pod.Namespace, pod.Labels)
	var owner model.Owner
	if ss.byOwner {
		owner = framework.SpreadingOwner(pod)
	}
	for i := range ss.classes {
		if o := &ss.classes[i]; o.class.podClass == class && o.owner == owner {
			o.class = e.refreshClass(o.class, pod)
			o.class.lastUsed = e.clock
			return o.class
		}
	}
	ec := e.compileClass(pod, class)
	ec.lastUsed = e.clock
	if len(ss.classes) >= maxClassesPerSpec {
		e.dropOldestClass(ss)
	}
	ss.classes = append(ss.classes, ownerClass{owner, ec})
	e.numClasses++
	return ec
}

// maxClassesPerSpec bounds the shapes of one specification, which are searched one by one.
const maxClassesPerSpec = 64

func (e *Engine) dropOldestClass(ss *specClasses) {
	oldest := 0
	for i := range ss.classes {
		if ss.classes[i].class.lastUsed < ss.classes[oldest].class.lastUsed {
			oldest = i
		}
	}
	e.dropCache(ss.classes[oldest].class)
	ss.classes = slices.Delete(ss.classes, oldest, oldest+1)
	e.numClasses--
}

// specClassesOf makes sure that classes tell apart all that the specification itself
// reads of labels.
func (e *Engine) specClassesOf(pod *model.Pod) *specClasses {
	ss := &specClasses{byOwner: e.profile.SpreadsByOwner(pod.Spec)}
	framework.TrackSelectors(e.index, pod.Spec)
	e.classesBySpec[pod.Spec] = ss
	return ss
}

// refreshClass compiles a shape anew when something that it was compiled on has
// changed: the groups that default spreading is deduced from, or the terms of other
// pods that act on it.
func (e *Engine) refreshClass(ec *equivalenceClass, pod *model.Pod) *equivalenceClass {
	version := e.index.SpreadGroupsVersion(pod.Namespace)
	if ec.groupsVersion != version && e.defaultSelectorKey(pod) == ec.defaultSelector {
		ec.groupsVersion = version
	}
	if ec.groupsVersion == version && ec.numTerms == len(e.index.TermsMatching(ec.podClass)) {
		return ec
	}
	e.dropCache(ec)
	fresh := e.compileClass(pod, ec.podClass)
	fresh.seen, fresh.lastLogPos, fresh.lastClock = ec.seen, ec.lastLogPos, ec.lastClock
	return fresh
}

// defaultSelectorKey is the identity of the selector for default spreading; empty when the
// pod has constraints of its own.
func (e *Engine) defaultSelectorKey(pod *model.Pod) string {
	return e.defaultSelectorKeyOf(&framework.Evaluation{State: e.state, Profile: e.profile, Pod: pod})
}

func (e *Engine) defaultSelectorKeyOf(a *framework.Evaluation) string {
	if len(a.Pod.Spec.Spread) > 0 || len(e.profile.DefaultConstraints()) == 0 {
		return ""
	}
	return string(cluster.AppendSelector(nil, a.DefaultSelector()))
}

// dropOldClasses drops the shapes that were not asked for lately.
func (e *Engine) dropOldClasses() {
	e.numClasses = 0
	for spec, ss := range e.classesBySpec {
		ss.classes = slices.DeleteFunc(ss.classes, func(o ownerClass) bool {
			old := e.clock-o.class.lastUsed > uint64(e.maxClasses)/2
			if old {
				e.dropCache(o.class)
			}
			return old
		})
		e.numClasses += len(ss.classes)
		if len(ss.classes) == 0 {
			delete(e.classesBySpec, spec)
		}
	}
	for key, b := range e.baseClasses {
		if e.clock-b.lastUsed > uint64(e.maxClasses)/2 {
			e.dropCache(b)
			delete(e.baseClasses, key)
		}
	}
}
