package cases

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// object is a part of a manifest.
type object = map[string]any

// aspects are the features of scheduling that a case can use. Each has a family of cases that all use it.
var aspects = []string{"resources", "taints", "nodeaffinity", "ports", "podaffinity", "spread", "images", "volumes", "nominated", "queue", "config", "preemption"}

// Families returns the families that Make accepts.
func Families() []string { return append(slices.Clone(aspects), "mixed") }

type caseBuilder struct {
	*rand.Rand
	enabled map[string]bool
	nodes   []object
	pods    []object // the last one is the pending pod
	others  []object // namespaces, budgets, workloads, Services and storage
	config  object
	gates   map[string]bool
	claims  []string // names in the namespace default
	strict  bool     // no malformed values
	scale   int      // multiple of the number of pods in a small cluster
}

// Make returns, as JSON, the case of a family with an index. The same arguments give the same case.
func Make(family string, seed uint64, index int) (json.RawMessage, error) {
	if !slices.Contains(Families(), family) {
		return nil, fmt.Errorf("unknown family %q", family)
	}
	h := fnv.New64a()
	fmt.Fprint(h, family, index)
	b := &caseBuilder{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), enabled: map[string]bool{}}
	for _, a := range aspects {
		p := 0.07
		if family == "mixed" {
			p = 0.4
		}
		switch a {
		case "resources":
			p += 0.25
		case "preemption":
			p += 0.13
		}
		b.enabled[a] = a == family || b.chance(p)
	}
	b.build()
	c := object{
		"id": fmt.Sprintf("%s-%d-%05d", family, seed, index), "family": family, "note": b.note(),
		"objects": slices.Concat(b.nodes, b.others, b.pods), "pod": "default/p",
	}
	if b.config != nil {
		c["config"] = b.config
	}
	if len(b.gates) > 0 {
		c["featureGates"] = b.gates
	}
	return json.Marshal(c)
}

func (b *caseBuilder) note() string {
	var names []string
	for _, a := range aspects {
		if b.enabled[a] {
			names = append(names, a)
		}
	}
	return fmt.Sprint(names)
}

func (b *caseBuilder) build() {
	if b.enabled["volumes"] {
		b.storage()
	}
	nodes := b.size()
	for i := range nodes {
		b.nodes = append(b.nodes, b.node(fmt.Sprintf("n%02d", i+1)))
	}
	b.namespaces()
	b.scale = max(1, nodes/10)
	running := b.IntN(31) * b.scale
	if b.chance(0.2) {
		running = b.IntN(4)
	}
	for i := range running {
		b.pods = append(b.pods, b.pod(fmt.Sprintf("r%02d", i+1), true))
	}
	if b.enabled["nominated"] {
		for i := range b.IntN(4) + 1 {
			b.pods = append(b.pods, b.nominatedPod(fmt.Sprintf("w%d", i+1)))
		}
	}
	if b.enabled["config"] {
		b.configure()
	}
	b.pods = append(b.pods, b.pending())
	if b.enabled["preemption"] {
		b.addPreemption()
	}
	if b.enabled["spread"] {
		b.groups()
	}
	if b.enabled["volumes"] {
		b.nodeStorage()
	}
}

// size returns the number of nodes. It is usually small: small clusters have fewer ties and
// unrelated rejections, which hide differences.
func (b *caseBuilder) size() int {
	switch {
	case b.chance(0.05):
		return b.IntN(191) + 10
	case b.chance(0.2):
		return b.IntN(41) + 10
	}
	return b.IntN(10) + 3
}

func (b *caseBuilder) chance(p float64) bool { return b.Float64() < p }

func pick[T any](b *caseBuilder, values ...T) T { return values[b.IntN(len(values))] }

// pickSome returns up to n different values.
func pickSome[T any](b *caseBuilder, n int, values ...T) []T {
	values = slices.Clone(values)
	b.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:min(n, len(values))]
}

func manifest(apiVersion, kind string, metadata object) object {
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}
