package tables

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

// holdColumns are those of deploy/hold-crd.yaml.
func holdColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), text("Type", "Reserve keeps room, Avoid keeps pods off."), text("Node", "The node."),
		text("Owner", "The controller of the pods that it is about."), text("Cause", "Why."), number("Count", "How many pods of the owner went for this."),
		text("Until", "When it ends."), ageColumn()}
}

func holdRow(h *v1alpha1.Hold) []any {
	s := &h.Spec
	return []any{h.Name, string(s.Type), s.Node, s.Owner.Name, s.Cause, int64(s.Count), s.Until.UTC().Format(time.RFC3339), age(&h.ObjectMeta)}
}
