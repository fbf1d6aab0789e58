package placement

import (
	"slices"
	"strconv"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// maxImages is how many different images the mask of a shape holds.
const maxImages = 30

// compiling is a shape in the making.
type compiling struct {
	*shape
	e      *Engine
	a      *attempt
	coarse map[string]int // slot of a topology key that goes by domain
	policy string         // identity of the pod's node selector and tolerations
}

// compile makes the shape of a pod.
func (e *Engine) compile(pod *model.Pod, class *cluster.Class) *shape {
	a := &attempt{state: e.state, profile: e.profile, pod: pod}
	c := &compiling{shape: &shape{class: class, spec: pod.Spec, slots: slotFirst, at: -1}, e: e, a: a, coarse: map[string]int{}}
	c.groups, c.deduced = e.index.GroupsVersion(pod.Namespace), e.deduceBy(a)
	c.terms = len(e.index.TermsOn(class))
	if c.narrow(); c.narrowed {
		return c.shape
	}
	c.compileStatic()
	c.compileScore()
	c.compileImages()
	c.compileSpread()
	c.compileTerms()
	c.finish()
	c.plain = c.plain || c.slots > maxSlots
	c.base = c.baseOf()
	return c.shape
}

// narrow finds out whether the search is limited to nodes by name. Such a pod is
// judged by the rules themselves, on these nodes alone, where all counts
// that they read are of these nodes, too.
func (c *compiling) narrow() {
	sel := &c.spec.NodeSelector
	if !c.e.rules.narrows || !sel.HasRequired || len(sel.Required) == 0 {
		return
	}
	names, narrowed := namedNodes(sel.Required)
	if !narrowed {
		return
	}
	c.narrowed, c.names = true, names
	s := c.spec
	alone := len(s.Affinity)+len(s.AntiAffinity)+len(s.PreferredAffinity)+len(s.PreferredAntiAffinity) == 0 &&
		c.terms == 0 && len(names) > 0 && len(names) <= 16
	for _, cs := range [][]constraint{c.constraints(true), c.constraints(false)} {
		for i := range cs {
			alone = alone && !cs[i].IgnoreAffinity
		}
	}
	c.plain = !alone
}

// use gives a topology key a slot for the domain, or 0 when the column is fine
// and the key need not go by domain.
func (c *compiling) use(key string) int {
	if slot, ok := c.coarse[key]; ok {
		return slot
	}
	column := c.e.index.Column(key)
	if column.Fine {
		return 0
	}
	return c.force(key)
}

// force gives a topology key a slot for the domain.
func (c *compiling) force(key string) int {
	slot, ok := c.coarse[key]
	if !ok {
		slot = c.slot()
		c.coarse[key] = slot
		c.columns = append(c.columns, columnUse{c.e.index.Column(key), slot})
	}
	return slot
}

// slot takes the next slot. Running out of them makes the shape plain.
func (c *compiling) slot() int {
	c.slots++
	return min(c.slots, maxSlots) - 1
}

// compileSpread compiles the constraints. Soft ones come first, as the domains
// of their keys must be told apart, fine or not: their number counts.
func (c *compiling) compileSpread() {
	if c.e.rules.weights[decision.PodTopologySpread] > 0 {
		cs := c.constraints(false)
		c.strict = len(c.spec.Spread) > 0 || !c.e.profile.cfg.Spread.System
		for i := range cs {
			c.softConstraint(cs, &cs[i])
		}
	}
	if c.e.rules.filters.Has(decision.PodTopologySpread) {
		cs := c.constraints(true)
		for i := range cs {
			k := &cs[i]
			h := hardSpread{counter: c.spreadCounter(k, k.TopologyKey, cs), slot: c.use(k.TopologyKey),
				maxSkew: int64(k.MaxSkew), minDomains: int(k.MinDomains), self: k.self}
			if h.slot == 0 {
				h.fine, h.slot = true, c.slot()
			}
			c.hard = append(c.hard, h)
		}
	}
}

// constraints are the pod's or the default ones, deduced only if there are any of
// the kind.
func (c *compiling) constraints(hard bool) []constraint {
	given := c.spec.Spread
	if len(given) == 0 {
		given = c.e.profile.spread
	}
	if !slices.ContainsFunc(given, func(k model.SpreadConstraint) bool { return k.Hard == hard }) {
		return nil
	}
	return c.a.constraints(hard)
}

func (c *compiling) softConstraint(all []constraint, k *constraint) {
	t := softTerm{skew: float64(k.MaxSkew - 1), host: k.TopologyKey == HostnameKey, column: c.e.index.Column(k.TopologyKey)}
	if t.host {
		m := spreadMatcher(k, c.a.pod.Namespace)
		t.counter = c.e.index.Counter(cluster.CounterName("", "", &m), "", nil, m, false)
		t.slot = c.slot()
		c.hostAt = t.column
	} else {
		required := all
		if !c.strict {
			required = nil
		}
		t.counter = c.spreadCounter(k, k.TopologyKey, required)
		t.slot = c.force(k.TopologyKey)
	}
	c.soft = append(c.soft, t)
}

// spreadMatcher matches the pods that a constraint counts. A selector without
// requirements counts none.
func spreadMatcher(k *constraint, namespace string) cluster.Matcher {
	t := cluster.MatchTerm{Namespaces: []string{namespace}, Selector: k.selector}
	if k.selector != nil && len(k.selector.Requirements) == 0 {
		t.Selector = nil
	}
	return cluster.Matcher{Terms: []cluster.MatchTerm{t}, SkipDeleting: true}
}

// spreadCounter counts the pods that a constraint counts on the nodes that count
// for it: those with the keys of all the constraints, that its policies include.
func (c *compiling) spreadCounter(k *constraint, key string, all []constraint) *cluster.Counter {
	b := make([]byte, 0, 64)
	var keys []string
	for i := range all {
		keys = append(keys, all[i].TopologyKey)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for _, key := range keys {
		b = cluster.AppendText(b, key)
	}
	b = append(b, '|')
	own := *k
	if !own.IgnoreAffinity {
		b = appendSelected(b, &c.spec.NodeSelector)
	}
	if own.HonorTaints {
		b = appendTolerations(append(b, '!'), c.spec.Tolerations, c.e.profile.cfg.NumericTolerations)
	}
	a := c.a
	eligible := c.e.index.Derived("eligible "+string(b), func(n *cluster.NodeInfo) int32 {
		for _, key := range keys {
			if _, ok := n.Model.Labels.Get(key); !ok {
				return 0
			}
		}
		if !a.counts(&own, n.Model) {
			return 0
		}
		return 1
	})
	m := spreadMatcher(k, c.a.pod.Namespace)
	return c.e.index.Counter(cluster.CounterName(key, string(b), &m), key, eligible, m, k.Hard)
}

// compileTerms compiles the pod's inter-pod terms, and those of other pods that
// act on it.
func (c *compiling) compileTerms() {
	s, args := c.spec, &c.e.profile.cfg.InterPod
	filters := c.e.rules.filters.Has(decision.InterPodAffinity)
	prefers := len(s.PreferredAffinity)+len(s.PreferredAntiAffinity) > 0
	scores := c.e.rules.weights[decision.InterPodAffinity] > 0 && (prefers || !args.IgnoreExisting)
	if filters {
		var all cluster.Matcher
		for i := range s.Affinity {
			all.Terms = append(all.Terms, cluster.MatchTermOf(&s.Affinity[i]))
		}
		for i := range s.Affinity {
			c.affine = append(c.affine, c.pull(s.Affinity[i].TopologyKey, all, 0))
		}
		c.selfish = c.a.affines().meetsAll(c.a.pod)
		for i := range s.AntiAffinity {
			c.anti = append(c.anti, c.pullOf(&s.AntiAffinity[i], 0))
		}
	}
	if scores {
		for i := range s.PreferredAffinity {
			w := &s.PreferredAffinity[i]
			c.draws = append(c.draws, c.pullOf(&w.Term, int64(w.Weight)))
		}
		for i := range s.PreferredAntiAffinity {
			w := &s.PreferredAntiAffinity[i]
			c.draws = append(c.draws, c.pullOf(&w.Term, -int64(w.Weight)))
		}
	}
	for _, t := range c.e.index.TermsOn(c.class) {
		weight := int64(t.Weight)
		switch t.Kind {
		case cluster.RequiredAntiAffinity:
			if filters {
				c.against = append(c.against, pull{&t.Counter, c.use(t.Column.Key), 0})
			}
			continue
		case cluster.RequiredAffinity:
			weight = args.HardWeight
		case cluster.PreferredAntiAffinity:
			weight = -weight
		}
		if scores && weight != 0 {
			c.draws = append(c.draws, pull{&t.Counter, c.use(t.Column.Key), weight})
		}
	}
}

func (c *compiling) pullOf(t *model.PodTerm, weight int64) pull {
	return c.pull(t.TopologyKey, cluster.Matcher{Terms: []cluster.MatchTerm{cluster.MatchTermOf(t)}}, weight)
}

func (c *compiling) pull(key string, m cluster.Matcher, weight int64) pull {
	return pull{c.e.index.Counter(cluster.CounterName(key, "", &m), key, nil, m, false), c.use(key), weight}
}

// compileImages makes the mask of the pod's images.
func (c *compiling) compileImages() {
	if c.e.rules.weights[decision.ImageLocality] == 0 || len(c.spec.Images) == 0 {
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
		c.plain = true
		return
	}
	images := c.images
	c.mask = c.e.index.Derived(string(name), func(n *cluster.NodeInfo) int32 {
		var mask int32
		for i, image := range images {
			if n.HasImage(image) {
				mask |= 1 << i
			}
		}
		return mask
	})
}

// appendSelected appends the identity of what nodes a selector demands.
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
