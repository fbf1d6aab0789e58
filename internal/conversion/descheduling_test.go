package conversion_test

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

const podWithDetails = `
metadata:
  annotations: {kubernetes.io/config.source: file, descheduler.alpha.kubernetes.io/evict: "", descheduler.alpha.kubernetes.io/prefer-no-eviction: "no"}
  ownerReferences:
  - {apiVersion: v1, kind: Thing, name: t, uid: u1}
  - {apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u2, controller: true}
spec:
  priority: 0
  resourceClaims: [{name: gpu}]
  volumes:
  - {name: h, hostPath: {path: /x}}
  - {name: c, persistentVolumeClaim: {claimName: data}}
  - {name: e, ephemeral: {volumeClaimTemplate: {spec: {}}}}
  initContainers: [{name: i, image: setup}]
  containers: [{name: a, image: "web:1"}, {name: b, image: proxy}]
status:
  reason: Evicted
  qosClass: Guaranteed
  conditions: [{type: Ready, status: "False", reason: Slow, lastTransitionTime: "2026-06-01T10:00:00Z"}]
  initContainerStatuses: [{name: i, restartCount: 2, state: {terminated: {reason: Error, exitCode: 3}}}]
  containerStatuses: [{name: a, restartCount: 5, state: {waiting: {reason: CrashLoopBackOff}}}, {name: b, state: {running: {}}}]
  ephemeralContainerStatuses: [{name: d, state: {terminated: {reason: Completed}}}]
`

func TestPodDetails(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(podWithDetails), &pod); err != nil {
		t.Fatal(err)
	}
	want := &descheduling.PodDetails{
		Owners:      []model.Owner{{APIVersion: "v1", Kind: "Thing", Name: "t", UID: "u1"}, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "u2"}},
		HasPriority: true, Guaranteed: true, Static: true, EvictAnyway: true, PreferNoEviction: true, LocalStorage: true,
		Claims: []string{"data"}, ResourceClaims: true, Images: []string{"web:1", "proxy"}, PhaseReason: "Evicted",
		Conditions: []descheduling.Condition{{Type: "Ready", Status: "False", Reason: "Slow", LastTransition: time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)}},
		Init:       []descheduling.Container{{Name: "i", Restarts: 2, Terminated: &descheduling.Termination{Reason: "Error", ExitCode: 3}}},
		Containers: []descheduling.Container{{Name: "a", Restarts: 5, Waiting: "CrashLoopBackOff"}, {Name: "b"}},
		Ephemeral:  []descheduling.Container{{Name: "d", Terminated: &descheduling.Termination{Reason: "Completed"}}},
	}
	got := conversion.PodDetails(&pod)
	for i := range got.Conditions {
		got.Conditions[i].LastTransition = got.Conditions[i].LastTransition.UTC()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := conversion.PodDetails(&corev1.Pod{}); !reflect.DeepEqual(got, &descheduling.PodDetails{}) {
		t.Errorf("empty pod: got %+v, want zero details", got)
	}
}

// TestDeschedulingSnapshot checks that nodes without conditions are ready, that pods are sorted by node, and that
// claims without a class are omitted.
func TestDeschedulingSnapshot(t *testing.T) {
	pod := func(name, node string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.Spec.NodeName = "d", name, node
		return p
	}
	node := func(name string, ready ...corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{}
		n.Name = name
		for _, s := range ready {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: s})
		}
		return n
	}
	claim := func(name string, class *string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		c.Namespace, c.Name, c.Spec.StorageClassName = "d", name, class
		return c
	}
	gold, now := "gold", time.Unix(1, 0)
	s := conversion.New().DeschedulingSnapshot([]runtime.Object{
		pod("b", "n2"), pod("a", "n2"), pod("orphan", "n9"), pod("pending", ""),
		node("n3", corev1.ConditionUnknown), node("n2"), node("n1", corev1.ConditionTrue), claim("g", &gold), claim("none", nil)}, now)
	var got string
	for _, n := range s.Nodes {
		got += n.Name
		if n.NotReady {
			got += "!"
		}
		for _, p := range n.Pods {
			got += " " + p.Name
		}
		got += ";"
	}
	for _, p := range s.Unbound {
		got += " " + p.Name
	}
	if want := "n1;n2 a b;n3!; orphan pending"; got != want || s.Now != now || !reflect.DeepEqual(s.ClaimStorageClasses, map[string]string{"d/g": "gold"}) {
		t.Errorf("got %q at %v with classes %v, want %q at %v with class gold of claim d/g", got, s.Now, s.ClaimStorageClasses, want, now)
	}
}
