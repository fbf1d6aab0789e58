package conversion

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/berthproject/berth/engine/model"
)

// Selector converts a label selector. Nil matches nothing, an empty selector
// everything. Errors are those of the upstream library.
func Selector(in *metav1.LabelSelector) (*model.Selector, error) {
	if in == nil {
		return nil, nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		return nil, err
	}
	return convertSelector(parsed), nil
}

// ParseSelector parses a selector such as "pool=web,tier in (a, b)". An empty string
// matches everything.
func ParseSelector(in string) (*model.Selector, error) {
	parsed, err := labels.Parse(in)
	if err != nil {
		return nil, err
	}
	return convertSelector(parsed), nil
}

func convertSelector(parsed labels.Selector) *model.Selector {
	requirements, _ := parsed.Requirements()
	out := &model.Selector{}
	for i := range requirements {
		out.Requirements = append(out.Requirements, convertRequirement(&requirements[i]))
	}
	slices.SortFunc(out.Requirements, compareRequirements)
	return out
}

func compareRequirements(a, b model.Requirement) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Op, b.Op), slices.Compare(a.Values, b.Values))
}

// convertRequirement converts a requirement that the upstream library has validated.
func convertRequirement(r *labels.Requirement) model.Requirement {
	out := model.Requirement{Key: r.Key(), Values: r.ValuesUnsorted()}
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		out.Op = model.In
	case selection.NotIn, selection.NotEquals:
		out.Op = model.NotIn
	case selection.Exists:
		out.Op = model.Exists
	case selection.DoesNotExist:
		out.Op = model.DoesNotExist
	case selection.GreaterThan:
		out.Op = model.Gt
	case selection.LessThan:
		out.Op = model.Lt
	}
	if len(out.Values) == 0 {
		out.Values = nil
	}
	slices.Sort(out.Values)
	return out
}

// selectorFromSet converts the map selector of Services and ReplicationControllers. An empty map
// selects nothing.
func selectorFromSet(m map[string]string) *model.Selector {
	if len(m) == 0 {
		return nil
	}
	out := &model.Selector{}
	for _, l := range model.LabelsOf(m) {
		out.Requirements = append(out.Requirements, model.Requirement{Key: l.Key, Op: model.In, Values: []string{l.Value}})
	}
	return out
}
