package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// selectorRegistry finds what selects pods by a label pair that it demands, so that a
// class meets only what it might match and not all there is.
type selectorRegistry[T any] struct {
	byPair  map[model.Label][]T
	unkeyed []T // what demands no pair
}

// maxKeyedValues is how many values a demand may name to be filed under each of them.
const maxKeyedValues = 16

// add files something under the pairs that it demands. With none demanded and
// not loose, it matches nothing and is not filed.
func (r *selectorRegistry[T]) add(v T, pairs []model.Label, loose bool) {
	if loose {
		r.unkeyed = append(r.unkeyed, v)
		return
	}
	if r.byPair == nil {
		r.byPair = map[model.Label][]T{}
	}
	for _, p := range pairs {
		r.byPair[p] = append(r.byPair[p], v)
	}
}

// visit calls with all that might match pods with the labels.
func (r *selectorRegistry[T]) visit(labels model.Labels, f func(T)) {
	for _, v := range r.unkeyed {
		f(v)
	}
	for _, l := range labels {
		for _, v := range r.byPair[l] {
			f(v)
		}
	}
}

// requiredLabels are label pairs of which a pod must have one to match all the terms;
// loose when there is no such demand.
func requiredLabels(terms []MatchTerm) (pairs []model.Label, loose bool) {
	for i := range terms {
		if terms[i].Selector == nil {
			return nil, false
		}
	}
	for i := range terms {
		for _, r := range terms[i].Selector.Requirements {
			if r.Op != model.In || len(r.Values) > maxKeyedValues {
				continue
			}
			for k, v := range r.Values {
				if slices.Index(r.Values, v) == k {
					pairs = append(pairs, model.Label{Key: r.Key, Value: v})
				}
			}
			return pairs, false
		}
	}
	return nil, true
}

// visitClasses calls with all classes whose pods might match the terms.
func (x *Index) visitClasses(terms []MatchTerm, f func(*PodClass)) {
	pairs, loose := requiredLabels(terms)
	if loose {
		for _, list := range x.classes.byHash {
			for _, cl := range list {
				f(cl)
			}
		}
		return
	}
	for _, p := range pairs {
		for _, cl := range x.classes.byPair[p] {
			f(cl)
		}
	}
}
