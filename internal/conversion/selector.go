package conversion

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/berthproject/berth/engine/model"
)

// Selector compiles a label selector: nil matches nothing, an empty one
// everything. The error has Kubernetes' words.
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

// ParseSelector compiles a selector in its short form, such as "pool=web,tier in (a, b)"; an empty one
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

// convertRequirement compiles a requirement that Kubernetes' library has accepted.
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

// selectorFromSet is the selector of Services and ReplicationControllers: a map, of
// which an empty one selects nothing.
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
