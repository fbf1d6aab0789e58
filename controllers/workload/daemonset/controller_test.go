package daemonset

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"

	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

var controllers = []workloadtest.Controller{func(ctx context.Context, s *workloadtest.Env, factory informers.SharedInformerFactory) error {
	return Run(ctx, s.Process(factory), nil)
}}

func createDaemonSet(s *workloadtest.Env, edits ...func(*appsv1.DaemonSet)) {
	s.Helper()
	one, t := intstr.FromInt32(1), workloadtest.Template("agent")
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: workloadtest.Namespace}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: t.Labels}, Template: t,
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &one}},
	}}
	for _, e := range edits {
		e(ds)
	}
	if _, err := s.AppsV1().DaemonSets(workloadtest.Namespace).Create(s.Context(), ds, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func getDaemonSet(s *workloadtest.Env) *appsv1.DaemonSet {
	s.Helper()
	ds, err := s.AppsV1().DaemonSets(workloadtest.Namespace).Get(s.Context(), "agent", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return ds
}

func updateImage(s *workloadtest.Env, name string) {
	s.Helper()
	ds := getDaemonSet(s)
	ds.Spec.Template.Spec.Containers[0].Image = name
	if _, err := s.AppsV1().DaemonSets(workloadtest.Namespace).Update(s.Context(), ds, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.Settle(time.Minute)
}

// podsByNode returns the pods as "node image", sorted.
func podsByNode(s *workloadtest.Env) (out []string) {
	for _, p := range s.Pods() {
		out = append(out, p.Spec.NodeName+" "+p.Spec.Containers[0].Image)
	}
	slices.Sort(out)
	return out
}

func checkPods(s *workloadtest.Env, step string, want ...string) {
	s.Helper()
	if got := podsByNode(s); !slices.Equal(got, want) {
		s.Errorf("%s: pods %q, want %q", step, got, want)
	}
}

func TestRolloutAndRollback(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		s.AddNode("a")
		s.AddNode("b")
		createDaemonSet(s)
		s.Settle(10 * time.Second)
		checkPods(s, "created", "a agent:1", "b agent:1")
		s.AddNode("c")
		s.Settle(10 * time.Second)
		checkPods(s, "a node was added", "a agent:1", "b agent:1", "c agent:1")
		updateImage(s, "agent:2")
		checkPods(s, "rolled out", "a agent:2", "b agent:2", "c agent:2")
		if st := getDaemonSet(s).Status; st.DesiredNumberScheduled != 3 || st.UpdatedNumberScheduled != 3 || st.NumberAvailable != 3 {
			t.Errorf("status %+v, want 3 desired, updated and available", st)
		}
		updateImage(s, "agent:1")
		checkPods(s, "rolled back", "a agent:1", "b agent:1", "c agent:1")
		list, err := s.AppsV1().ControllerRevisions(workloadtest.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var numbers []string
		for _, r := range list.Items {
			numbers = append(numbers, fmt.Sprint(r.Revision))
		}
		if slices.Sort(numbers); !slices.Equal(numbers, []string{"2", "3"}) {
			t.Errorf("the revisions are %v, want 2 and 3: revision 3 restores revision 1", numbers)
		}
		n, err := s.CoreV1().Nodes().Get(t.Context(), "b", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
		if _, err := s.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Settle(10 * time.Second)
		checkPods(s, "a node no longer matches", "a agent:1", "c agent:1")
	})
}

// TestBackoffOnEvictingNode checks that pods for a node that evicts each of them are created with a backoff that doubles
// from 10 s to 10 min. Kubernetes creates as many as its queue backoff allows (kubernetes/kubernetes#94245).
func TestBackoffOnEvictingNode(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		s.AddNode("a")
		s.AddNode("b")
		s.SetPodHook(func(p *corev1.Pod) bool {
			if p.Spec.NodeName == "a" {
				workloadtest.Terminate(p, corev1.PodFailed, "Evicted", 1)
			}
			return p.Spec.NodeName == "a"
		})
		createDaemonSet(s)
		s.Settle(time.Hour)
		if n := s.EventCount("FailedDaemonPod"); n < 5 || n > 13 {
			t.Errorf("%d failed pods were replaced in an hour, want 5 to 13", n)
		}
		if s.EventCount("BackOff") == 0 {
			t.Error("no event BackOff was recorded, want at least one")
		}
		s.SetPodHook(nil)
		s.Settle(15 * time.Minute)
		checkPods(s, "the backoff has ended", "a agent:1", "b agent:1")
	})
}
