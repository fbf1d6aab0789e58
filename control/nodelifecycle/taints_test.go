package nodelifecycle

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
)

func withConditions(cs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, c := range cs {
		t, s, _ := strings.Cut(c, "=")
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(t), Status: corev1.ConditionStatus(s)})
	}
	return n
}

func TestTaintsFollowConditions(t *testing.T) {
	foreign := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	stale := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	kept := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}
	for name, tc := range map[string]struct {
		node    *corev1.Node
		has     []corev1.Taint
		want    string
		changed bool
	}{
		"a ready node loses admission's taint": {withConditions("Ready=True"), []corev1.Taint{stale}, "", true},
		"others' taints stay":                  {withConditions("Ready=True"), []corev1.Taint{foreign, kept}, "gpu node.kubernetes.io/not-ready", false},
		"no condition yet is not ready":        {withConditions(), []corev1.Taint{stale}, "node.kubernetes.io/not-ready", false},
		"unknown is unreachable":               {withConditions("Ready=Unknown"), []corev1.Taint{stale}, "node.kubernetes.io/unreachable", true},
		"pressure":                             {withConditions("Ready=True", "MemoryPressure=True", "DiskPressure=False"), nil, "node.kubernetes.io/memory-pressure", true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.node.Spec.Taints = tc.has
			got, changed := taints(tc.node, time.Unix(0, 0))
			var keys []string
			for _, g := range got {
				keys = append(keys, g.Key)
			}
			if strings.Join(keys, " ") != tc.want || changed != tc.changed {
				t.Errorf("taints %v, changed %v; want %s, %v", keys, changed, tc.want, tc.changed)
			}
		})
	}
}

func TestTheLoopTaintsACordonedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := withConditions("Ready=True")
		n.Spec.Unschedulable = true
		api := fake.NewClientset(n)
		ctx := t.Context()
		go func() { _ = Run(ctx, api, klog.Background()) }()
		time.Sleep(time.Second)
		synctest.Wait()
		got, err := api.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
		if err != nil || !slices.ContainsFunc(got.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable }) {
			t.Errorf("taints %v, %v", got.Spec.Taints, err)
		}
	})
}
