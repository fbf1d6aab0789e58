package conversion

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestSetDisruptionTarget(t *testing.T) {
	at := time.Unix(1e9, 0)
	p := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	if ActiveDisruptionTarget(p) != nil || DisruptionTarget(p) != nil {
		t.Error("a pod without the condition has one")
	}
	if changed, previous := SetDisruptionTarget(p, NewDisruptionTarget("A", "a", at)); !changed || previous != nil {
		t.Errorf("adding the condition: got changed %t and previous condition %v, want true and none", changed, previous)
	}
	if changed, _ := SetDisruptionTarget(p, NewDisruptionTarget("B", "b", at)); changed || ActiveDisruptionTarget(p).Reason != "A" {
		t.Error("a condition that is True was replaced")
	}
	*DisruptionTarget(p) = NewClearedDisruptionTarget(at)
	if ActiveDisruptionTarget(p) != nil {
		t.Error("a cleared condition is active")
	}
	if changed, previous := SetDisruptionTarget(p, NewDisruptionTarget("B", "b", at)); !changed || previous.Status != corev1.ConditionFalse || ActiveDisruptionTarget(p).Reason != "B" {
		t.Errorf("replacing a cleared condition: got changed %t and previous condition %v, want true and the cleared one", changed, previous)
	}
	if len(p.Status.Conditions) != 2 {
		t.Errorf("got conditions %v, want 2", p.Status.Conditions)
	}
	if RestoreDisruptionTarget(p, nil); len(p.Status.Conditions) != 1 || DisruptionTarget(p) != nil {
		t.Errorf("got conditions %v, want only Ready", p.Status.Conditions)
	}
}

func TestDisruptionTargetPatch(t *testing.T) {
	at := time.Unix(1e9, 0)
	for want, c := range map[string]corev1.PodCondition{
		`{"lastTransitionTime":"2001-09-09T01:46:40Z","message":"m","reason":"r","status":"True","type":"DisruptionTarget"}`: NewDisruptionTarget("r", "m", at),
		`{"lastTransitionTime":"2001-09-09T01:46:40Z","status":"False","type":"DisruptionTarget"}`:                           NewClearedDisruptionTarget(at),
	} {
		if got, err := json.Marshal(DisruptionTargetPatch(c)); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
