package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// selectorRegistry finds objects with selectors by a label that they require, so that only
// candidates are matched against a pod class.
type selectorRegistry[T any] struct {
	byPair  map[model.Label][]T
	unkeyed []T // objects without a required label
}

// maxKeyedValues is the maximum number of values of an In requirement to be used as keys.
const maxKeyedValues = 16

// add adds an object under the labels that it requires, or as unkeyed. With neither it
// matches nothing and is not added.
func (r *selectorRegistry[T]) add(v T, pairs []model.Label, unkeyed bool) {
	if unkeyed {
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

// visit calls f with all objects that may match pods with the labels.
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

// requiredLabels returns labels of which a pod must have at least one to match all terms.
// unkeyed means that there is no such set.
func requiredLabels(terms []MatchTerm) (pairs []model.Label, unkeyed bool) {
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

// visitClasses calls f with all classes whose pods may match the terms.
func (x *Index) visitClasses(terms []MatchTerm, f func(*PodClass)) {
	pairs, unkeyed := requiredLabels(terms)
	if unkeyed {
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
