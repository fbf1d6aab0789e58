package kubeclient

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FuzzMergePodStatus compares mergePodStatus with package strategicpatch.
func FuzzMergePodStatus(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		status, patch := randomStatus(r), randomStatusPatch(r)
		got, ok := mergePodStatus(status, patch)
		merged, err := mergeJSON(reflect.ValueOf(status), types.StrategicMergePatchType, patch)
		if err != nil {
			t.Fatal(err)
		}
		if want := merged.Interface(); ok && !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("patch %s of %+v: got %+v, want %+v", patch, status, got, want)
		}
		var p map[string]json.RawMessage
		if err := json.Unmarshal(patch, &p); err != nil {
			t.Fatal(err)
		}
		if !ok && p["phase"] == nil {
			t.Errorf("patch %s is not supported", patch)
		}
	})
}

var conditionTypes = []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget}

func randomStatus(r *rand.Rand) (s corev1.PodStatus) {
	s.NominatedNodeName = []string{"", "n1"}[r.IntN(2)]
	for _, i := range r.Perm(len(conditionTypes))[:r.IntN(len(conditionTypes)+1)] {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: conditionTypes[i], Status: corev1.ConditionTrue, Reason: "Old", Message: "old",
			LastTransitionTime: metav1.NewTime(time.Unix(100, 0))})
	}
	return s
}

// randomStatusPatch returns a patch. One in ten sets the phase to null, which mergePodStatus does not support.
func randomStatusPatch(r *rand.Rand) []byte {
	p := map[string]any{}
	if r.IntN(2) == 0 {
		p["nominatedNodeName"] = []any{nil, "n2"}[r.IntN(2)]
	}
	if r.IntN(10) == 0 {
		p["phase"] = nil
	}
	if r.IntN(3) > 0 {
		c := map[string]any{"type": conditionTypes[r.IntN(len(conditionTypes))]}
		for _, name := range []string{"status", "reason", "message"} {
			if r.IntN(2) == 0 {
				c[name] = fmt.Sprint(name, r.IntN(3))
			}
		}
		if r.IntN(2) == 0 {
			c["lastTransitionTime"] = time.Unix(200, 0).UTC().Format(time.RFC3339)
		}
		p["conditions"] = []any{c}
	}
	out, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return out
}
