package descheduler

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// TestPreviewEqualsDryRun checks that a preview of recorded objects has the plan of a dry run on the same objects.
func TestPreviewEqualsDryRun(t *testing.T) {
	objects := unbalancedCluster()
	for _, o := range objects[:3] {
		o.(*corev1.Node).UID = types.UID(o.(*corev1.Node).Name)
	}
	objects[2].(*corev1.Node).Status.Conditions[0].Status = corev1.ConditionFalse // n3
	o := newOptions(t, fake.NewClientset(objects...), Planned)
	o.DryRun = true
	_, want := runOnce(t, o)

	converter, notReady, details := conversion.New(), map[string]bool{}, map[string]*descheduling.PodDetails{}
	c := RecordedCluster{Now: time.Now(), Details: func(uid string) *descheduling.PodDetails { return details[uid] },
		NotReady: func(n *model.Node) bool { return notReady[n.Name] }, Holds: *want.HoldSupport}
	for _, o := range objects {
		c.Objects = append(c.Objects, converter.Convert(o))
		switch o := o.(type) {
		case *corev1.Pod:
			details[string(o.UID)] = conversion.PodDetails(o)
		case *corev1.Node:
			notReady[o.Name] = o.Status.Conditions[0].Status != corev1.ConditionTrue
		}
	}
	got, err := Preview(o, c)
	if err != nil {
		t.Fatal(err)
	}
	got.Time, want.Time, got.Duration, want.Duration = time.Time{}, time.Time{}, 0, 0
	if !reflect.DeepEqual(got, want) || len(got.Moves)+len(got.Refusals) == 0 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	o.Policy = newUtilizationPolicy(true)
	if _, err := Preview(o, c); err == nil {
		t.Error("a policy with measured usage: got no error")
	}
}
