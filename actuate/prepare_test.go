package actuate

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

func plan() scheduling.Prepare {
	return scheduling.Prepare{Pod: web, Node: "n1", Plan: &model.VolumePlan{Node: "n1",
		Bind: []model.ClaimVolume{{Claim: &model.PersistentVolumeClaim{Namespace: "ns", Name: "c", UID: "c1"},
			Volume: &model.PersistentVolume{Name: "v", ResourceVersion: "7"}}},
		Provision: []*model.PersistentVolumeClaim{{Namespace: "ns", Name: "d", UID: "d1"}}}}
}

func aVolume(change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "v1", ResourceVersion: "7"}}
	change(v)
	return v
}

func aClaim(uid types.UID, node string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", UID: uid, ResourceVersion: "8"}}
	if node != "" {
		c.Annotations = map[string]string{volume.AnnSelectedNode: node}
	}
	return c
}

func as(*corev1.PersistentVolume) {}

func named(uid types.UID, name string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: name, UID: uid}
	}
}

func patches(client *fake.Clientset) (n int) {
	for _, a := range client.Actions() {
		if a.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func TestPrepareOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		volume  *corev1.PersistentVolume
		claim   *corev1.PersistentVolumeClaim
		want    scheduling.Result
		patches int
	}{
		"both to do":                       {aVolume(as), aClaim("d1", ""), scheduling.Done, 2},
		"both done before":                 {aVolume(named("c1", "c")), aClaim("d1", "n1"), scheduling.Done, 0},
		"the volume names the claim":       {aVolume(named("", "c")), aClaim("d1", "n1"), scheduling.Done, 1},
		"the volume is another's":          {aVolume(named("x", "x")), aClaim("d1", ""), scheduling.Conflict, 0},
		"the volume is a namesake's":       {aVolume(named("x", "c")), aClaim("d1", ""), scheduling.Conflict, 0},
		"the volume has changed":           {aVolume(func(v *corev1.PersistentVolume) { v.ResourceVersion = "9" }), aClaim("d1", ""), scheduling.Conflict, 0},
		"no volume":                        {nil, aClaim("d1", ""), scheduling.Refused, 0},
		"no claim, the volume stays taken": {aVolume(as), nil, scheduling.Refused, 1},
		"a namesake of the claim":          {aVolume(as), aClaim("other", ""), scheduling.Conflict, 1},
		"another node was selected":        {aVolume(as), aClaim("d1", "n2"), scheduling.Conflict, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var there []runtime.Object
			if tc.volume != nil {
				there = append(there, tc.volume)
			}
			if tc.claim != nil {
				there = append(there, tc.claim)
			}
			a, client := rig(nil, there...)
			if got := a.prepare(t.Context(), plan()); got.Result != tc.want || (got.Why == "") != (got.Result == scheduling.Done) {
				t.Errorf("outcome %v (%s), want %v", got.Result, got.Why, tc.want)
			}
			if n := patches(client); n != tc.patches {
				t.Errorf("%d patches, want %d", n, tc.patches)
			}
		})
	}
}

func TestPrepareWritesReservationAndNode(t *testing.T) {
	a, client := rig(nil, aVolume(as), aClaim("d1", ""))
	if got := a.prepare(t.Context(), plan()); got.Result != scheduling.Done {
		t.Fatalf("outcome %+v", got)
	}
	v, _ := client.CoreV1().PersistentVolumes().Get(t.Context(), "v", metav1.GetOptions{})
	if r := v.Spec.ClaimRef; r == nil || r.UID != "c1" || r.Name != "c" || r.Namespace != "ns" || r.Kind != "PersistentVolumeClaim" || v.Annotations[volume.AnnBoundByController] != "yes" {
		t.Errorf("volume is %+v", v)
	}
	c, _ := client.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "d", metav1.GetOptions{})
	if c.Annotations[volume.AnnSelectedNode] != "n1" {
		t.Errorf("claim is %+v", c)
	}
}

func TestPrepareUnderErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want scheduling.Result
	}{
		"changed meanwhile": {apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumes"}, "v", errors.New("changed")), scheduling.Conflict},
		"forbidden":         {apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumes"}, "v", nil), scheduling.Refused},
		"no answer":         {context.DeadlineExceeded, scheduling.Unknown},
	} {
		a, client := rig(nil, aVolume(as), aClaim("d1", ""))
		client.PrependReactor("patch", "persistentvolumes", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		if got := a.prepare(t.Context(), plan()); got.Result != tc.want {
			t.Errorf("%s: outcome %v (%s), want %v", name, got.Result, got.Why, tc.want)
		}
	}
}
