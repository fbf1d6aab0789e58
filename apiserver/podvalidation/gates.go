package podvalidation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

func (c *podValidator) validateReadinessGates(path *field.Path) {
	for i, gate := range c.spec.ReadinessGates {
		c.validateQualifiedName(string(gate.ConditionType), path.Index(i).Child("conditionType"))
	}
}

func (c *podValidator) validateSchedulingGates(path *field.Path) {
	seen := podfields.NameSet{}
	for i, gate := range c.spec.SchedulingGates {
		c.validateQualifiedName(gate.Name, path.Index(i))
		if !seen.Add(gate.Name) {
			c.duplicate(path.Index(i), gate.Name)
		}
	}
}
