package executor

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

func newBindVolumes() scheduling.BindVolumes {
	return scheduling.BindVolumes{Pod: web, Node: "n1", Plan: &model.VolumePlan{Node: "n1",
		Bind: []model.ClaimVolume{{Claim: &model.PersistentVolumeClaim{Namespace: "ns", Name: "c", UID: "c1"},
			Volume: &model.PersistentVolume{Name: "v", ResourceVersion: "7"}}},
		Provision: []*model.PersistentVolumeClaim{{Namespace: "ns", Name: "d", UID: "d1"}}}}
}

func newVolume(change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "v1", ResourceVersion: "7"}}
	change(v)
	return v
}

func newClaim(uid types.UID, node string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", UID: uid, ResourceVersion: "8"}}
	if node != "" {
		c.Annotations = map[string]string{volume.AnnSelectedNode: node}
	}
	return c
}

func unchanged(*corev1.PersistentVolume) {}

func reservedFor(uid types.UID, name string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: name, UID: uid}
	}
}

func countPatches(client *fake.Clientset) (n int) {
	for _, a := range client.Actions() {
		if a.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func TestBindVolumesOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		volume  *corev1.PersistentVolume
		claim   *corev1.PersistentVolumeClaim
		want    scheduling.Result
		patches int
	}{
		"both writes missing":                               {newVolume(unchanged), newClaim("d1", ""), scheduling.Done, 2},
		"both already written":                              {newVolume(reservedFor("c1", "c")), newClaim("d1", "n1"), scheduling.Done, 0},
		"the volume names the claim":                        {newVolume(reservedFor("", "c")), newClaim("d1", "n1"), scheduling.Done, 1},
		"the volume is bound to another claim":              {newVolume(reservedFor("x", "x")), newClaim("d1", ""), scheduling.Conflict, 0},
		"the volume is bound to a claim with the same name": {newVolume(reservedFor("x", "c")), newClaim("d1", ""), scheduling.Conflict, 0},
		"the volume has changed":                            {newVolume(func(v *corev1.PersistentVolume) { v.ResourceVersion = "9" }), newClaim("d1", ""), scheduling.Conflict, 0},
		"no volume":                                         {nil, newClaim("d1", ""), scheduling.Refused, 0},
		"no claim, the volume remains bound":                {newVolume(unchanged), nil, scheduling.Refused, 1},
		"a new claim with the same name":                    {newVolume(unchanged), newClaim("other", ""), scheduling.Conflict, 1},
		"another node was selected":                         {newVolume(unchanged), newClaim("d1", "n2"), scheduling.Conflict, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if tc.volume != nil {
				objects = append(objects, tc.volume)
			}
			if tc.claim != nil {
				objects = append(objects, tc.claim)
			}
			x, client := newTestExecutor(nil, objects...)
			if got := x.bindVolumes(t.Context(), newBindVolumes()); got.Result != tc.want || (got.Reason == "") != (got.Result == scheduling.Done) {
				t.Errorf("outcome %v (%s), want %v", got.Result, got.Reason, tc.want)
			}
			if n := countPatches(client); n != tc.patches {
				t.Errorf("%d patches, want %d", n, tc.patches)
			}
		})
	}
}

func TestBindVolumesWritesReservationAndNode(t *testing.T) {
	x, client := newTestExecutor(nil, newVolume(unchanged), newClaim("d1", ""))
	if got := x.bindVolumes(t.Context(), newBindVolumes()); got.Result != scheduling.Done {
		t.Fatalf("outcome %+v, want Done", got)
	}
	v, _ := client.CoreV1().PersistentVolumes().Get(t.Context(), "v", metav1.GetOptions{})
	if r := v.Spec.ClaimRef; r == nil || r.UID != "c1" || r.Name != "c" || r.Namespace != "ns" || r.Kind != "PersistentVolumeClaim" || v.Annotations[volume.AnnBoundByController] != "yes" {
		t.Errorf("volume %+v, want a claimRef of ns/c", v)
	}
	c, _ := client.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "d", metav1.GetOptions{})
	if c.Annotations[volume.AnnSelectedNode] != "n1" {
		t.Errorf("claim %+v, want node n1 in its annotation", c)
	}
}

func TestBindVolumesAPIErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want scheduling.Result
	}{
		"changed meanwhile": {apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumes"}, "v", errors.New("changed")), scheduling.Conflict},
		"forbidden":         {apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumes"}, "v", nil), scheduling.Refused},
		"no response":       {context.DeadlineExceeded, scheduling.Unknown},
	} {
		x, client := newTestExecutor(nil, newVolume(unchanged), newClaim("d1", ""))
		client.PrependReactor("patch", "persistentvolumes", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		if got := x.bindVolumes(t.Context(), newBindVolumes()); got.Result != tc.want {
			t.Errorf("%s: outcome %v (%s), want %v", name, got.Result, got.Reason, tc.want)
		}
	}
}
