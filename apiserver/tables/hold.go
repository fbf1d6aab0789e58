package tables

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

// holdColumns returns the columns of Holds. They equal those in deploy/hold-crd.yaml.
func holdColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), stringColumn("Type", "Reserve reserves capacity on the node, Avoid keeps pods off the node."), stringColumn("Node", "Node of the Hold."),
		stringColumn("Owner", "Controller that owns the pods."), stringColumn("Cause", "Reason for the Hold."), integerColumn("Count", "Number of pods of the owner that were displaced for this reason."),
		stringColumn("Until", "Time when the Hold expires."), ageColumn()}
}

func holdRow(h *v1alpha1.Hold) []any {
	s := &h.Spec
	return []any{h.Name, string(s.Type), s.Node, s.Owner.Name, s.Cause, int64(s.Count), s.Until.UTC().Format(time.RFC3339), age(&h.ObjectMeta)}
}
