package kubeclient

import (
	"encoding/json"
	"errors"
	"math/rand"
	"reflect"
	"strconv"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/berthproject/berth/sim/store"
)

func newPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7", OwnerReferences: []metav1.OwnerReference{{Name: "x", UID: "1"}, {Name: "y", UID: "2"}}},
		Spec:   corev1.PodSpec{NodeName: "n", NodeSelector: map[string]string{}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
}

func TestPatchOfMetadata(t *testing.T) {
	p, before := newPod(), newPod()
	if err := applyPatch(p, types.StrategicMergePatchType, []byte(`{"metadata":{"uid":"u","ownerReferences":[{"$patch":"delete","uid":"1"}],"annotations":{"k":"v"}}}`), false); err != nil {
		t.Fatal(err)
	}
	want := newPod()
	want.OwnerReferences, want.Annotations = want.OwnerReferences[1:], map[string]string{"k": "v"}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("patched to %+v, want %+v", p, want)
	}
	if err := applyPatch(p, types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null,"annotations":{"k":null}}}`), false); err != nil || len(p.OwnerReferences)+len(p.Annotations) > 0 {
		t.Errorf("patched to %+v, %v; want no owner and no annotation", p, err)
	}
	if !reflect.DeepEqual(before, newPod()) {
		t.Errorf("the original is now %+v, want it unchanged", before)
	}
}

func TestPatchOfStatus(t *testing.T) {
	p := newPod()
	at := metav1.NewTime(time.Unix(100, 0).UTC())
	patch := `{"metadata":{"uid":"u"},"spec":{"nodeName":"m"},"status":{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"1970-01-01T00:01:40Z"}]}}`
	if err := applyPatch(p, types.StrategicMergePatchType, []byte(patch), true); err != nil {
		t.Fatal(err)
	}
	conditions := map[corev1.PodConditionType]corev1.PodCondition{}
	for _, c := range p.Status.Conditions {
		conditions[c.Type] = c
	}
	if p.Spec.NodeName != "n" || p.Status.Phase != corev1.PodFailed || len(conditions) != 2 || conditions[corev1.PodReady].Status != corev1.ConditionTrue ||
		!at.Equal(new(conditions[corev1.DisruptionTarget].LastTransitionTime)) {
		t.Errorf("patched to %+v, want phase Failed and both conditions on node n", p)
	}
	if err := applyPatch(p, types.StrategicMergePatchType, []byte(patch), true); !errors.Is(err, store.ErrUnchanged) {
		t.Errorf("repeated patch: %v, want %v", err, store.ErrUnchanged)
	}
	if err := applyPatch(p, types.StrategicMergePatchType, []byte(`{"status":{"phase":"Running"}}`), false); !errors.Is(err, store.ErrUnchanged) {
		t.Errorf("patch of the status without the subresource: %v, want %v", err, store.ErrUnchanged)
	}
}

func TestPatchPreconditions(t *testing.T) {
	for metadata, conflicts := range map[string]bool{`{"uid":"u","resourceVersion":"7"}`: false, `{"uid":"v"}`: true, `{"resourceVersion":"6"}`: true} {
		err := applyPatch(newPod(), types.MergePatchType, []byte(`{"metadata":`+metadata+`,"spec":{"nodeName":"m"}}`), false)
		if apierrors.IsConflict(err) != conflicts || err != nil && !conflicts {
			t.Errorf("patch with metadata %s: %v, want a conflict: %t", metadata, err, conflicts)
		}
	}
}

// TestPatchOfOtherFields checks that a patch replaces scalars and lists, and increments the generation with the spec.
func TestPatchOfOtherFields(t *testing.T) {
	e := &eventsv1.Event{Note: "a"}
	if err := applyPatch(e, types.MergePatchType, []byte(`{"note":"b"}`), false); err != nil || e.Note != "b" {
		t.Errorf("patched to %+v, %v; want note b", e, err)
	}
	for want := range int32(3) {
		patch := []byte(`{"series":{"count":` + strconv.Itoa(int(want)+1) + `}}`)
		if err := applyPatch(e, types.MergePatchType, patch, false); err != nil || e.Series.Count != want+1 {
			t.Errorf("patched to %+v, %v; want count %d", e, err, want+1)
		}
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "a"}, {Key: "b"}}}}
	if err := applyPatch(n, types.StrategicMergePatchType, []byte(`{"spec":{"taints":[{"key":"b"}]}}`), false); err != nil || len(n.Spec.Taints) != 1 || n.Generation != 2 {
		t.Errorf("patched to %+v, %v; want taint b and generation 2", n, err)
	}
}

// TestPatchEqualsReference compares random patches of the conditions and annotations of a pod with the implementation of
// Kubernetes.
func TestPatchEqualsReference(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	conditions := func(directives bool) (list []any) {
		for _, i := range r.Perm(4)[:1+r.Intn(4)] {
			c := map[string]any{"type": "C" + strconv.Itoa(i), "status": "S" + strconv.Itoa(r.Intn(3))}
			switch n := r.Intn(6); {
			case n == 0 && directives:
				c["$patch"] = "delete"
			case n == 1 && directives:
				c["reason"] = nil
			case n < 4:
				c["reason"] = "R" + strconv.Itoa(n)
			}
			list = append(list, c)
		}
		return list
	}
	for range 500 {
		original := mustMarshal(t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "1", "b": "2"}}, "status": map[string]any{"conditions": conditions(false)}})
		patches := map[types.PatchType]map[string]any{
			types.StrategicMergePatchType: {"status": map[string]any{"conditions": conditions(true), "phase": "Running"}},
			types.MergePatchType:          {"metadata": map[string]any{"annotations": map[string]any{"a": nil, "c": "3"}}, "status": map[string]any{"conditions": conditions(false)}},
		}
		for patchType, fields := range patches {
			patch := mustMarshal(t, fields)
			reference, err := jsonpatch.MergePatch(original, patch)
			if patchType == types.StrategicMergePatchType {
				reference, err = strategicpatch.StrategicMergePatch(original, patch, &corev1.Pod{})
			}
			var got, want corev1.Pod
			if err = errors.Join(err, json.Unmarshal(original, &got), json.Unmarshal(reference, &want)); err != nil {
				t.Fatal(err)
			}
			for _, toStatus := range []bool{false, true} {
				if err := applyPatch(&got, patchType, patch, toStatus); err != nil && !errors.Is(err, store.ErrUnchanged) {
					t.Fatal(err)
				}
			}
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("patch %s of %s gives %+v, want %+v", patch, original, got, want)
			}
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
