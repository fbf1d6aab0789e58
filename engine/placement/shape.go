package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// shape is what placement reads of a pod, compiled: two pods of one shape are
// decided alike, but for ties.
type shape struct {
	class *cluster.Class
	spec  *model.PodSpec
	used  uint64 // Engine.clock
	at    int64  // log position when last decided
	last  uint64 // Engine.clock then
	seen  bool   // decided before
	view  *view

	plain    bool // goes to the plain path
	narrowed bool // by node names
	names    []string

	groups  uint64 // version of the namespace's groups
	deduced string // the selector that they give for default spreading
	terms   int    // number of other pods' terms that act on the class

	static  *cluster.Derived // verdict, or soft taints and preference, see packStatic
	prefers bool
	score   nodeScore
	ports   []model.HostPort
	scalars []model.Scalar

	images []string         // different ones, as in the mask
	mask   *cluster.Derived // which of them a node has

	columns []columnUse
	fine    []fineUse
	flagged bool // slotFlags and slotDraw say something
	varied  bool // anything but slotStatic and slotImages says something
	slots   int
	reads   []uint8 // the slots in use
	hard    []hardSpread
	soft    []softTerm
	strict  bool            // nodes without all keys of soft constraints do not take part
	hostAt  *cluster.Column // presence of the host name matters to soft
	affine  []pull
	selfish bool // would be the first of a group that is affine to itself
	anti    []pull
	against []pull // other pods' required anti-affinity
	draws   []pull

	sited      bool // has a site key
	site       siteKey
	base       *shape // whose view it may share
	spots      []*cluster.Counter
	labels     []*cluster.Column // it shares only while all nodes have these
	blankFlags int32             // of nodes that no spot counts on
	owed       int64             // how much more lifting has cost than a view would have
}

// The first slots of a vector; columns and fine counts follow.
const (
	slotStatic = iota
	slotImages
	slotFlags
	slotDraw
	slotFirst
	maxSlots = 14
)

// The bits of slotFlags.
const (
	flagAffinityLabel = 1 << iota // a fine affinity key is missing
	flagAffinityNone              // a fine domain has no match
	flagAnti
	flagAgainst
	flagHost // has the host name label
)

// vector is all that a shape reads of a node but its own part of the score:
// nodes of equal vectors are judged and scored alike in all else.
type vector [maxSlots]int32

// columnUse puts a node's domain into a slot.
type columnUse struct {
	column *cluster.Column
	slot   int
}

// fineUse puts a node's count into a slot, plus present where it has the label.
type fineUse struct {
	counter *cluster.Counter
	slot    int
	present int32
}

// pull is a counter that attracts or repels. With slot 0 its column is fine, and
// what it says of a node is in the flags or in slotDraw.
type pull struct {
	counter *cluster.Counter
	slot    int
	weight  int64
}

// hardSpread is a hard constraint. The slot holds the domain, or, when the
// column is fine, the domain's count plus one; 0 where the label is missing.
type hardSpread struct {
	counter    *cluster.Counter
	slot       int
	fine       bool
	maxSkew    int64
	minDomains int
	self       int64
}

// softTerm is a soft constraint. The slot holds the domain, or, for the host
// name, the number of matching pods on the node itself.
type softTerm struct {
	counter *cluster.Counter
	slot    int
	host    bool
	skew    float64 // maxSkew-1
	column  *cluster.Column
}

// odd says whether a soft constraint meets nodes that lack its key beside ones
// with an empty value. The two are one domain then, which columns keep apart.
func (sh *shape) odd() bool {
	for i := range sh.soft {
		if !sh.strict && !sh.soft[i].host && sh.soft[i].column.HasEmpty() {
			return true
		}
	}
	return false
}

// specShapes are the shapes of a specification: one for each class of labels
// and, where default spreading asks, each owner.
type specShapes struct {
	owned  bool // the owner matters
	shapes []ownedShape
}

type ownedShape struct {
	owner model.Owner
	shape *shape
}

// shapeOf finds or makes a pod's shape.
func (e *Engine) shapeOf(pod *model.Pod) *shape {
	x := e.index
	if e.epoch != x.Epoch {
		e.forget()
	}
	if e.shapes >= e.keep {
		e.dropOld()
	}
	ss := e.specs[pod.Spec]
	if ss == nil {
		ss = e.specOf(pod)
	}
	class := x.Class(pod.Namespace, pod.Labels)
	var owner model.Owner
	if ss.owned {
		owner = ownerOf(pod)
	}
	for i := range ss.shapes {
		if o := &ss.shapes[i]; o.shape.class == class && o.owner == owner {
			o.shape = e.current(o.shape, pod)
			o.shape.used = e.clock
			return o.shape
		}
	}
	sh := e.compile(pod, class)
	sh.used = e.clock
	if len(ss.shapes) >= shapesPerSpec {
		e.dropOldest(ss)
	}
	ss.shapes = append(ss.shapes, ownedShape{owner, sh})
	e.shapes++
	return sh
}

// shapesPerSpec bounds the shapes of one specification, which are searched one by one.
const shapesPerSpec = 64

func (e *Engine) dropOldest(ss *specShapes) {
	oldest := 0
	for i := range ss.shapes {
		if ss.shapes[i].shape.used < ss.shapes[oldest].shape.used {
			oldest = i
		}
	}
	e.drop(ss.shapes[oldest].shape)
	ss.shapes = slices.Delete(ss.shapes, oldest, oldest+1)
	e.shapes--
}

// specOf makes sure that classes tell apart all that the specification itself
// reads of labels.
func (e *Engine) specOf(pod *model.Pod) *specShapes {
	ss := &specShapes{owned: e.readsOwner(pod.Spec)}
	e.useKeys(pod.Spec)
	e.specs[pod.Spec] = ss
	return ss
}

// readsOwner says whether the pod's owner matters: default spreading looks for it.
func (e *Engine) readsOwner(s *model.PodSpec) bool {
	return len(s.Spread) == 0 && len(e.profile.spread) > 0
}

// useKeys makes classes tell apart what the specification reads of labels.
func (e *Engine) useKeys(s *model.PodSpec) {
	var keys []model.Requirement
	for i := range s.Spread {
		e.index.UseKeys(s.Spread[i].Selector)
		for _, k := range s.Spread[i].MatchLabelKeys {
			keys = append(keys, model.Requirement{Key: k})
		}
	}
	for _, list := range [][]model.PodTerm{s.Affinity, s.AntiAffinity} {
		for i := range list {
			e.index.UseKeys(list[i].Selector)
		}
	}
	for _, list := range [][]model.WeightedPodTerm{s.PreferredAffinity, s.PreferredAntiAffinity} {
		for i := range list {
			e.index.UseKeys(list[i].Term.Selector)
		}
	}
	e.index.UseKeys(&model.Selector{Requirements: keys})
}

// ownerOf is the owner as far as default spreading reads it.
func ownerOf(pod *model.Pod) model.Owner {
	switch o := pod.Owner; o.Kind {
	case "ReplicationController", "ReplicaSet", "StatefulSet":
		o.UID = ""
		return o
	}
	return model.Owner{}
}

// current compiles a shape anew when something that it was compiled on has
// changed: the groups that default spreading is deduced from, or the terms of other
// pods that act on it.
func (e *Engine) current(sh *shape, pod *model.Pod) *shape {
	version := e.index.GroupsVersion(pod.Namespace)
	if sh.groups != version && e.deduce(pod) == sh.deduced {
		sh.groups = version
	}
	if sh.groups == version && sh.terms == len(e.index.TermsOn(sh.class)) {
		return sh
	}
	e.drop(sh)
	fresh := e.compile(pod, sh.class)
	fresh.seen, fresh.at, fresh.last = sh.seen, sh.at, sh.last
	return fresh
}

// deduce is the identity of the selector for default spreading; empty when the
// pod has constraints of its own.
func (e *Engine) deduce(pod *model.Pod) string {
	return e.deduceBy(&attempt{state: e.state, profile: e.profile, pod: pod})
}

func (e *Engine) deduceBy(a *attempt) string {
	if len(a.pod.Spec.Spread) > 0 || len(e.profile.spread) == 0 {
		return ""
	}
	return string(cluster.AppendSelector(nil, a.deduce()))
}

// dropOld drops the shapes that were not asked for lately.
func (e *Engine) dropOld() {
	e.shapes = 0
	for spec, ss := range e.specs {
		ss.shapes = slices.DeleteFunc(ss.shapes, func(o ownedShape) bool {
			old := e.clock-o.shape.used > uint64(e.keep)/2
			if old {
				e.drop(o.shape)
			}
			return old
		})
		e.shapes += len(ss.shapes)
		if len(ss.shapes) == 0 {
			delete(e.specs, spec)
		}
	}
	for key, b := range e.bases {
		if e.clock-b.used > uint64(e.keep)/2 {
			e.drop(b)
			delete(e.bases, key)
		}
	}
}
