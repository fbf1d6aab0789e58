package bench

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/conversion"
)

// BenchmarkEndToEnd measures the whole path of a pod within the process. The pod is converted, queued,
// assumed and bound, and converted again when the watch reports the binding. It is removed 1,000 pods later,
// so that the cluster does not fill up. Only the API server is missing.
func BenchmarkEndToEnd(b *testing.B) {
	for _, nodes := range []int{500, 5000, 50000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) { benchmarkEndToEnd(b, nodes) })
	}
}

func benchmarkEndToEnd(b *testing.B, nodes int) {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	cfg := scheduling.DefaultConfig()
	cfg.Profiles = []profiles.Profile{profiles.New(p, 1, 0)}
	m, converter := scheduling.New(cfg), conversion.New()
	now := time.Unix(1_700_000_000, 0)
	s := mixedCluster(nodes)
	events := []scheduling.Event{&model.Namespace{Name: "default"}}
	for _, id := range s.NodeIDs() {
		events = append(events, s.Node(id).Model)
	}
	m.Step(now, events, 0)
	const existingPods = 1000
	pods := make([]*corev1.Pod, existingPods)
	for i := range pods {
		pods[i] = newDeploymentPod()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		pod := pods[i%existingPods]
		events = events[:0]
		if i >= existingPods {
			events = append(events, scheduling.Remove{Object: &model.Pod{UID: string(pod.UID)}})
		}
		pod.Name, pod.Spec.NodeName = fmt.Sprintf("web-%d", i), ""
		pod.UID = types.UID("b1946ac9-2492-4d23-8f9c-" + pod.Name)
		effects, _ := m.Step(now, append(events, converter.Pod(pod)), 1)
		bind, ok := effects[0].(scheduling.Bind)
		if !ok {
			b.Fatalf("pod %d: effect %+v, want a Bind", i, effects[0])
		}
		pod.Spec.NodeName = bind.Node
		m.Step(now, append(events[:0], scheduling.Outcome{ID: bind.ID}, converter.Pod(pod)), 0)
		now = now.Add(time.Millisecond)
	}
}

// newDeploymentPod returns a pod as a Deployment creates it.
func newDeploymentPod() *corev1.Pod {
	seconds := int64(300)
	toleration := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": "web", "pod-template-hash": "5d8c7b9f4"}},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler",
			Containers: []corev1.Container{{Name: "c", Image: "registry.example/web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")}}}},
			Tolerations: []corev1.Toleration{toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")},
		},
	}
}
