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

// aspects are the families, and the rules that can apply in a case.
var aspects = []string{"resources", "taints", "nodeaffinity", "ports", "podaffinity", "spread", "images", "volumes", "nominated", "queue", "config", "preemption"}

// Families returns the families of Make.
func Families() []string { return append(slices.Clone(aspects), "mixed") }

// caseBuilder builds a case.
type caseBuilder struct {
	*rand.Rand
	enabled map[string]bool
	nodes   []object
	pods    []object // the last one is the pending pod
	others  []object
	config  object
	gates   map[string]bool
	volumes volumes
	strict  bool // no malformed values
	scale   int  // multiple of the number of pods in a small cluster
}

// Make returns the case of a family with this index, as JSON.
func Make(family string, seed uint64, index int) (json.RawMessage, error) {
	if !slices.Contains(Families(), family) {
		return nil, fmt.Errorf("unknown family %q", family)
	}
	h := fnv.New64a()
	fmt.Fprint(h, family, index)
	w := &caseBuilder{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), enabled: map[string]bool{}}
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
		w.enabled[a] = a == family || w.chance(p)
	}
	w.build()
	c := object{
		"id": fmt.Sprintf("%s-%d-%05d", family, seed, index), "family": family, "note": w.note(),
		"objects": slices.Concat(w.nodes, w.others, w.pods), "pod": "default/p",
	}
	if w.config != nil {
		c["config"] = w.config
	}
	if len(w.gates) > 0 {
		c["featureGates"] = w.gates
	}
	return json.Marshal(c)
}

func (w *caseBuilder) note() string {
	var names []string
	for _, a := range aspects {
		if w.enabled[a] {
			names = append(names, a)
		}
	}
	return fmt.Sprint(names)
}

func (w *caseBuilder) build() {
	if w.enabled["volumes"] {
		w.storage()
	}
	nodes := w.size()
	for i := range nodes {
		w.nodes = append(w.nodes, w.node(fmt.Sprintf("n%02d", i+1)))
	}
	w.namespaces()
	w.scale = max(1, nodes/10)
	running := w.IntN(31) * w.scale
	if w.chance(0.2) {
		running = w.IntN(4)
	}
	for i := range running {
		w.pods = append(w.pods, w.pod(fmt.Sprintf("r%02d", i+1), true))
	}
	if w.enabled["nominated"] {
		for i := range w.IntN(4) + 1 {
			w.pods = append(w.pods, w.nominatedPod(fmt.Sprintf("w%d", i+1)))
		}
	}
	if w.enabled["config"] {
		w.configure()
	}
	w.pods = append(w.pods, w.pending())
	if w.enabled["preemption"] {
		w.addPreemption()
	}
	if w.enabled["spread"] {
		w.groups()
	}
	if w.enabled["volumes"] {
		w.nodeStorage()
	}
}

// size returns the number of nodes. It is usually small, because other rejections and ties then
// hide fewer differences.
func (w *caseBuilder) size() int {
	switch {
	case w.chance(0.05):
		return w.IntN(191) + 10
	case w.chance(0.2):
		return w.IntN(41) + 10
	}
	return w.IntN(10) + 3
}

func (w *caseBuilder) chance(p float64) bool { return w.Float64() < p }

// pick returns one of the values.
func pick[T any](w *caseBuilder, values ...T) T { return values[w.IntN(len(values))] }

// pickSome returns up to n different values.
func pickSome[T any](w *caseBuilder, n int, values ...T) []T {
	values = slices.Clone(values)
	w.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:min(n, len(values))]
}

func manifest(apiVersion, kind string, metadata object) object {
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}
