package agent_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// startCluster runs an agent for n nodes against a fake API in virtual time; stop ends it.
func startCluster(t *testing.T, api *fake.Clientset, n int) (stop func()) {
	t.Helper()
	var nodes []*corev1.Node
	for i := range n {
		nodes = append(nodes, agent.NewNode(fmt.Sprint("n", i), resource.MustParse("8"), resource.MustParse("16Gi")))
	}
	a, err := agent.New(agent.Options{
		Client: api, Nodes: nodes, Log: klog.Background(),
		Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func boundPod(name, node string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "uid-x", Annotations: annotations},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "c", Image: "app:1"}},
		},
	}
}

func get(t *testing.T, api *fake.Clientset, name string) *corev1.Pod {
	t.Helper()
	p, err := api.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNodesRegisterAndRenewLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		api.PrependReactor("create", "nodes", func(action clienttesting.Action) (bool, k8sruntime.Object, error) {
			object := action.(clienttesting.CreateAction).GetObject().(*corev1.Node)
			object.UID = types.UID("uid-" + object.Name)
			return false, nil, nil
		})
		stop := startCluster(t, api, 40)
		defer stop()
		time.Sleep(25 * time.Second)
		synctest.Wait()
		nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 40 {
			t.Fatalf("%d nodes, %v, want 40", len(nodes.Items), err)
		}
		lease, err := api.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "n7", metav1.GetOptions{})
		if err != nil || time.Since(lease.Spec.RenewTime.Time) > 11*time.Second {
			t.Errorf("lease %v, %v, want one renewed in the last 11 s", lease, err)
		}
		if owners := lease.OwnerReferences; len(owners) != 1 || owners[0] != (metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n7", UID: "uid-n7"}) {
			t.Errorf("owners %+v, want the node", owners)
		}
	})
}

func TestPodsFollowAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        corev1.PodPhase
		code        int32
	}{
		"success":            {map[string]string{simulated.RunSeconds: "30"}, corev1.PodSucceeded, 0},
		"failure":            {map[string]string{simulated.RunSeconds: "30", simulated.ExitCode: "3"}, corev1.PodFailed, 3},
		"invalid annotation": {map[string]string{simulated.RunSeconds: "soon"}, corev1.PodFailed, 128},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset(boundPod("p", "n0", tc.annotations))
				stop := startCluster(t, api, 1)
				defer stop()
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if p := get(t, api, "p"); tc.code != 128 && (p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "") {
					t.Errorf("after 10 s: %s with IP %q, want Running with an IP", p.Status.Phase, p.Status.PodIP)
				}
				time.Sleep(25 * time.Second)
				synctest.Wait()
				p := get(t, api, "p")
				if p.Status.Phase != tc.want || p.Status.ContainerStatuses[0].State.Terminated.ExitCode != tc.code {
					t.Errorf("after 35 s: %+v, want %s with exit code %d", p.Status, tc.want, tc.code)
				}
			})
		})
	}
}

func TestAgentRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(boundPod("p", "n0", map[string]string{simulated.RunSeconds: "60"}))
		stop := startCluster(t, api, 1)
		time.Sleep(30 * time.Second)
		stop()
		stop = startCluster(t, api, 1)
		defer stop()
		time.Sleep(25 * time.Second)
		synctest.Wait()
		before := get(t, api, "p")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if after := get(t, api, "p"); before.Status.Phase != corev1.PodRunning || after.Status.Phase != corev1.PodSucceeded {
			t.Errorf("at 55 s %s, at 65 s %s, want Running, then Succeeded", before.Status.Phase, after.Status.Phase)
		}
	})
}

func TestDeletedPodIsStoppedAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(boundPod("p", "n0", nil))
		stop := startCluster(t, api, 1)
		defer stop()
		time.Sleep(time.Second)
		p := get(t, api, "p")
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(30 * time.Second)}, new(int64)
		*p.DeletionGracePeriodSeconds = 30
		p.Finalizers = []string{"kubernetes.io/x"}
		if _, err := api.CoreV1().Pods("default").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := api.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get of the deleted pod: %v, want NotFound", err)
		}
	})
}

func TestInvalidNodeManifests(t *testing.T) {
	n := agent.NewNode("a", resource.MustParse("1"), resource.MustParse("1Gi"))
	for _, nodes := range [][]*corev1.Node{nil, {n, n}, {{}}, {{ObjectMeta: metav1.ObjectMeta{Name: "x"}}}} {
		_, err := agent.New(agent.Options{Nodes: nodes, Runtime: func(func(runtime.Report)) runtime.Runtime { return nil }})
		if err == nil {
			t.Errorf("New with nodes %v succeeded, want an error", nodes)
		}
	}
}

// TestExternallyRegistered checks that the agent serves an existing node that it must not create, or that it
// is forbidden to create.
func TestExternallyRegistered(t *testing.T) {
	for name, tc := range map[string]struct{ exists, externallyRegistered bool }{
		"exists":                            {true, true},
		"does not exist":                    {false, true},
		"exists, and creating is forbidden": {true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			api, n := fake.NewClientset(), agent.NewNode("n", resource.MustParse("8"), resource.MustParse("16Gi"))
			if tc.exists {
				if _, err := api.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			api.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
				return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "n", nil)
			})
			a, err := agent.New(agent.Options{Client: api, Nodes: []*corev1.Node{n}, ExternallyRegistered: tc.externallyRegistered, Log: klog.Background(),
				Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- a.Run(ctx) }()
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			got, err := api.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
			if tc.exists != (err == nil && len(got.Status.Conditions) > 0) {
				t.Errorf("%s: node %v, %v, want conditions: %v", name, got, err, tc.exists)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
