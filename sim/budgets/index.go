package budgets

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/sim/store"
)

// Index maps pods to budgets and budgets to pods, by key.
type Index struct {
	pods    map[string]*corev1.Pod
	budgets map[string]*indexedBudget
	keys    []string // budget keys, sorted
}

// indexedBudget is a budget and the pods that it covers.
type indexedBudget struct {
	namespace string
	selector  labels.Selector
	pods      map[string]*corev1.Pod
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{pods: map[string]*corev1.Pod{}, budgets: map[string]*indexedBudget{}}
}

// selects reports whether the budget covers p.
func (c *indexedBudget) selects(p *corev1.Pod) bool {
	return p != nil && p.Namespace == c.namespace && c.selector.Matches(labels.Set(p.Labels))
}

// setBudget sets a budget; nil deletes it.
func (v *Index) setBudget(key string, b *policyv1.PodDisruptionBudget) {
	i, found := slices.BinarySearch(v.keys, key)
	if b == nil {
		if found {
			v.keys = slices.Delete(v.keys, i, i+1)
		}
		delete(v.budgets, key)
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	if previous := v.budgets[key]; previous != nil && previous.selector.String() == selector.String() {
		return
	}
	c := &indexedBudget{namespace: b.Namespace, selector: selector, pods: map[string]*corev1.Pod{}}
	for key, p := range v.pods {
		if c.selects(p) {
			c.pods[key] = p
		}
	}
	v.budgets[key] = c
	if !found {
		v.keys = slices.Insert(v.keys, i, key)
	}
}

// setPod sets a pod, or deletes it if current is nil, and returns the keys of the affected budgets.
func (v *Index) setPod(key string, current *corev1.Pod) (affected []string) {
	if v.pods[key] = current; current == nil {
		delete(v.pods, key)
	}
	for _, budget := range v.keys {
		c := v.budgets[budget]
		selected, wasSelected := c.selects(current), c.pods[key] != nil
		if selected {
			c.pods[key] = current
		} else if wasSelected {
			delete(c.pods, key)
		}
		if selected || wasSelected {
			affected = append(affected, budget)
		}
	}
	return affected
}

// BudgetsOf returns the keys of the budgets that cover p, sorted.
func (v *Index) BudgetsOf(p *corev1.Pod) (out []string) {
	for _, budget := range v.keys {
		if v.budgets[budget].selects(p) {
			out = append(out, budget)
		}
	}
	return out
}

// Members returns the pods of a budget, sorted by key.
func (v *Index) Members(budget string) []*corev1.Pod {
	c := v.budgets[budget]
	if c == nil {
		return nil
	}
	out := make([]*corev1.Pod, 0, len(c.pods))
	for _, key := range slices.Sorted(maps.Keys(c.pods)) {
		out = append(out, c.pods[key])
	}
	return out
}

// Update applies a change of a pod or budget and returns the keys of the affected budgets.
func (v *Index) Update(k store.Kind, key string, current store.Object) []string {
	switch k {
	case store.Pods:
		p, _ := current.(*corev1.Pod)
		return v.setPod(key, p)
	case store.PodDisruptionBudgets:
		b, _ := current.(*policyv1.PodDisruptionBudget)
		v.setBudget(key, b)
		return []string{key}
	}
	return nil
}

// Keys returns the keys of the budgets, sorted.
func (v *Index) Keys() []string { return v.keys }

// Selects reports whether a budget covers p, which may be nil. The budget must exist.
func (v *Index) Selects(budget string, p *corev1.Pod) bool { return v.budgets[budget].selects(p) }
