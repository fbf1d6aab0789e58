package tables

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

// holdColumns match deploy/hold-crd.yaml.
func holdColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), stringColumn("Type", "Reserve keeps room, Avoid keeps pods off."), stringColumn("Node", "The node."),
		stringColumn("Owner", "The controller of the pods that it is about."), stringColumn("Cause", "Why."), integerColumn("Count", "How many pods of the owner went for this."),
		stringColumn("Until", "When it ends."), ageColumn()}
}

func holdRow(h *v1alpha1.Hold) []any {
	s := &h.Spec
	return []any{h.Name, string(s.Type), s.Node, s.Owner.Name, s.Cause, int64(s.Count), s.Until.UTC().Format(time.RFC3339), age(&h.ObjectMeta)}
}
