package fastpath

import (
	"slices"
	"strconv"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// maxImages is the maximum number of images in a mask.
const maxImages = 30

// classBuilder compiles the equivalence class of a pod.
type classBuilder struct {
	*equivalenceClass
	engine    *Engine
	ev        *framework.Evaluation
	slotByKey map[string]int // slot by topology key
}

func (e *Engine) compileClass(pod *model.Pod, class *cluster.PodClass) *equivalenceClass {
	ev := &framework.Evaluation{State: e.state, Profile: e.profile, Pod: pod}
	c := &classBuilder{equivalenceClass: &equivalenceClass{podClass: class, spec: pod.Spec, slots: slotFirst, lastLogPos: -1}, engine: e, ev: ev, slotByKey: map[string]int{}}
	c.groupsVersion, c.defaultSelector = e.index.SpreadGroupsVersion(pod.Namespace), e.defaultSelectorKeyOf(ev)
	c.numTerms = len(e.index.TermsMatching(class))
	if c.compileNames(); c.hasNames {
		return c.equivalenceClass
	}
	c.compileStatic()
	c.compileScore()
	c.compileImages()
	c.compileSpread()
	c.compileTerms()
	c.finish()
	c.reference = c.reference || c.slots > maxSlots
	c.base = c.baseClass()
	return c.equivalenceClass
}

// compileNames checks whether node names limit the search. If they do, the reference evaluator
// decides. It evaluates only these nodes if they are few and no plugin counts pods on other nodes.
func (c *classBuilder) compileNames() {
	sel := &c.spec.NodeSelector
	if !c.engine.plugins.nodeAffinityPreFilter || !sel.HasRequired || len(sel.Required) == 0 {
		return
	}
	names, hasNames := plugins.NodeNamesOf(sel.Required)
	if !hasNames {
		return
	}
	c.hasNames, c.names = true, names
	s := c.spec
	onlyNames := len(s.Affinity)+len(s.AntiAffinity)+len(s.PreferredAffinity)+len(s.PreferredAntiAffinity) == 0 &&
		c.numTerms == 0 && len(names) > 0 && len(names) <= 16
	for _, cs := range [][]plugins.Constraint{c.constraints(true), c.constraints(false)} {
		for i := range cs {
			onlyNames = onlyNames && !cs[i].IgnoreAffinity
		}
	}
	c.reference = !onlyNames
}

// useTopology returns the domain slot of a topology key, or 0 if the topology is
// fine-grained.
func (c *classBuilder) useTopology(key string) int {
	if slot, ok := c.slotByKey[key]; ok {
		return slot
	}
	topology := c.engine.index.Topology(key)
	if topology.FineGrained {
		return 0
	}
	return c.domainSlot(key)
}

func (c *classBuilder) domainSlot(key string) int {
	slot, ok := c.slotByKey[key]
	if !ok {
		slot = c.nextSlot()
		c.slotByKey[key] = slot
		c.domainSlots = append(c.domainSlots, domainSlot{c.engine.index.Topology(key), slot})
	}
	return slot
}

// nextSlot allocates a slot. If there are more than maxSlots, the reference evaluator
// decides.
func (c *classBuilder) nextSlot() int {
	c.slots++
	return min(c.slots, maxSlots) - 1
}

// compileTerms compiles the pod's affinity terms and those of other pods that match it.
func (c *classBuilder) compileTerms() {
	s, args := c.spec, &c.engine.profile.Config().InterPod
	filters := c.engine.plugins.filters.Has(decision.InterPodAffinity)
	prefers := len(s.PreferredAffinity)+len(s.PreferredAntiAffinity) > 0
	scores := c.engine.plugins.weights[decision.InterPodAffinity] > 0 && (prefers || !args.IgnorePreferredTermsOfExistingPods)
	if filters {
		var all cluster.Matcher
		for i := range s.Affinity {
			all.Terms = append(all.Terms, cluster.MatchTermOf(&s.Affinity[i]))
		}
		for i := range s.Affinity {
			c.affinity = append(c.affinity, c.affinityTerm(s.Affinity[i].TopologyKey, all, 0))
		}
		c.selfAffinity = plugins.NewTermMatcher(c.ev).MatchesAllAffinity(c.ev.Pod)
		for i := range s.AntiAffinity {
			c.antiAffinity = append(c.antiAffinity, c.affinityTermOf(&s.AntiAffinity[i], 0))
		}
	}
	if scores {
		for i := range s.PreferredAffinity {
			w := &s.PreferredAffinity[i]
			c.scoringTerms = append(c.scoringTerms, c.affinityTermOf(&w.Term, int64(w.Weight)))
		}
		for i := range s.PreferredAntiAffinity {
			w := &s.PreferredAntiAffinity[i]
			c.scoringTerms = append(c.scoringTerms, c.affinityTermOf(&w.Term, -int64(w.Weight)))
		}
	}
	for _, t := range c.engine.index.TermsMatching(c.podClass) {
		weight := int64(t.Weight)
		switch t.Kind {
		case cluster.RequiredAntiAffinity:
			if filters {
				c.existingAntiAffinity = append(c.existingAntiAffinity, affinityTerm{&t.DomainCounter, c.useTopology(t.Topology.Key), 0})
			}
			continue
		case cluster.RequiredAffinity:
			weight = args.HardPodAffinityWeight
		case cluster.PreferredAntiAffinity:
			weight = -weight
		}
		if scores && weight != 0 {
			c.scoringTerms = append(c.scoringTerms, affinityTerm{&t.DomainCounter, c.useTopology(t.Topology.Key), weight})
		}
	}
}

func (c *classBuilder) affinityTermOf(t *model.PodAffinityTerm, weight int64) affinityTerm {
	return c.affinityTerm(t.TopologyKey, cluster.Matcher{Terms: []cluster.MatchTerm{cluster.MatchTermOf(t)}}, weight)
}

func (c *classBuilder) affinityTerm(key string, m cluster.Matcher, weight int64) affinityTerm {
	return affinityTerm{c.engine.index.Counter(cluster.CounterKey(key, "", &m), key, nil, m, false), c.useTopology(key), weight}
}

// compileImages compiles the mask of the images that each node has. With more than maxImages images, the
// reference evaluator decides.
func (c *classBuilder) compileImages() {
	if c.engine.plugins.weights[decision.ImageLocality] == 0 || len(c.spec.Images) == 0 {
		return
	}
	name := []byte("images ")
	for _, image := range c.spec.Images {
		if !slices.Contains(c.images, image) {
			c.images = append(c.images, image)
			name = cluster.AppendText(name, image)
		}
	}
	if len(c.images) > maxImages {
		c.reference = true
		return
	}
	images := c.images
	c.mask = c.engine.index.NodeValues(string(name), func(n *cluster.NodeInfo) int32 {
		var mask int32
		for i, image := range images {
			if n.HasImage(image) {
				mask |= 1 << i
			}
		}
		return mask
	})
}

// appendSelected appends the nodeSelector and the required node affinity to a key.
func appendSelected(b []byte, s *model.NodeSelector) []byte {
	for _, l := range s.Labels {
		b = cluster.AppendText(cluster.AppendText(b, l.Key), l.Value)
	}
	b = strconv.AppendBool(b, s.HasRequired)
	for i := range s.Required {
		b = cluster.AppendNodeTerm(b, &s.Required[i])
	}
	return b
}

func appendTolerations(b []byte, list []model.Toleration, numeric bool) []byte {
	b = strconv.AppendBool(b, numeric)
	for i := range list {
		t := &list[i]
		b = cluster.AppendText(cluster.AppendText(b, t.Key), t.Value)
		b = append(b, '0'+byte(t.Op), '0'+byte(t.Effect))
	}
	return b
}
