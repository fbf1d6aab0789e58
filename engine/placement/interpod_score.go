package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// drawTo is the sum of weights by topology domain.
type drawTo struct {
	*affines
	keys    []string // topology keys with an entry, in the order of their first one
	weights map[pair]int64
}

// scoreInterPod scores how much the pods around draw the pod or put it off: its
// own preferences, those of the pods there, and their required affinity, which
// weighs what the profile says.
func (a *attempt) scoreInterPod() scoring {
	args, spec := &a.profile.cfg.InterPod, a.pod.Spec
	prefers := len(spec.PreferredAffinity)+len(spec.PreferredAntiAffinity) > 0
	if args.IgnoreExisting && !prefers {
		return scoring{}
	}
	d := &drawTo{affines: a.affines(), weights: map[pair]int64{}}
	for i := range a.sites {
		for _, p := range a.sites[i].pods {
			d.draw(a.sites[i].node, p, args.HardWeight)
		}
	}
	if len(d.keys) == 0 {
		return scoring{}
	}
	return scoring{raw: d.raw, normalise: func(_ []*site, points []int64) { stretch(points) }}
}

// draw adds the weights between the pod that comes and one that is there.
func (d *drawTo) draw(n *model.Node, there *model.Pod, hard int64) {
	own, its := d.a.pod.Spec, there.Spec
	for i := range own.PreferredAffinity {
		if t := &own.PreferredAffinity[i]; d.meets(&t.Term, there) {
			d.add(n, t.Term.TopologyKey, int64(t.Weight))
		}
	}
	for i := range own.PreferredAntiAffinity {
		if t := &own.PreferredAntiAffinity[i]; d.meets(&t.Term, there) {
			d.add(n, t.Term.TopologyKey, -int64(t.Weight))
		}
	}
	if hard > 0 {
		for i := range its.Affinity {
			if t := &its.Affinity[i]; d.met(t) {
				d.add(n, t.TopologyKey, hard)
			}
		}
	}
	for i := range its.PreferredAffinity {
		if t := &its.PreferredAffinity[i]; d.met(&t.Term) {
			d.add(n, t.Term.TopologyKey, int64(t.Weight))
		}
	}
	for i := range its.PreferredAntiAffinity {
		if t := &its.PreferredAntiAffinity[i]; d.met(&t.Term) {
			d.add(n, t.Term.TopologyKey, -int64(t.Weight))
		}
	}
}

func (d *drawTo) add(n *model.Node, key string, weight int64) {
	value, ok := n.Labels.Get(key)
	if !ok {
		return
	}
	if !slices.Contains(d.keys, key) {
		d.keys = append(d.keys, key)
	}
	d.weights[pair{key, value}] += weight
}

func (d *drawTo) raw(st *site) int64 {
	var sum int64
	for _, key := range d.keys {
		if value, ok := st.node.Labels.Get(key); ok {
			sum += d.weights[pair{key, value}]
		}
	}
	return sum
}

// stretch maps the least to 0 and the most to 100, rounding down; all to 0 when they are equal.
func stretch(points []int64) {
	least, most := slices.Min(points), slices.Max(points)
	for i, v := range points {
		points[i] = 0
		if most > least {
			points[i] = int64(float64(100 * float64(float64(v-least)/float64(most-least))))
		}
	}
}
