package endpoints

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

// harness is the controller over a fake API in virtual time.
type harness struct {
	t   *testing.T
	api *fake.Clientset
}

// runController runs a test with the controller in virtual time.
func runController(t *testing.T, objects []runtime.Object, test func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewSimpleClientset(objects...)
		created := 0
		api.PrependReactor("create", "endpointslices", func(a kubetesting.Action) (bool, runtime.Object, error) {
			s := a.(kubetesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice)
			created++ // the name is generated as by an API server
			s.Name, s.UID, s.Generation = fmt.Sprint(s.GenerateName, created), types.UID(fmt.Sprint("slice-", created)), 1
			return false, nil, nil
		})
		api.PrependReactor("update", "endpointslices", func(a kubetesting.Action) (bool, runtime.Object, error) {
			a.(kubetesting.UpdateAction).GetObject().(*discoveryv1.EndpointSlice).Generation++
			return false, nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: informers.NewSharedInformerFactory(api, 0), Log: klog.Background()})
		}()
		h := &harness{t, api}
		h.settle()
		test(h)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // until the informers stop
	})
}

// settle waits until the controller is idle.
func (h *harness) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// conditions returns, for each pod in the slices of web, which of its conditions ready, serving and terminating
// are true.
func (h *harness) conditions() map[string]string {
	h.t.Helper()
	list, err := h.api.DiscoveryV1().EndpointSlices("default").List(h.t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			out[e.TargetRef.Name] = ""
			for i, condition := range []*bool{e.Conditions.Ready, e.Conditions.Serving, e.Conditions.Terminating} {
				if *condition {
					out[e.TargetRef.Name] += []string{"ready ", "serving ", "terminating"}[i]
				}
			}
		}
	}
	return out
}

// addresses returns the number of ready and not-ready addresses in the Endpoints of web.
func (h *harness) addresses() (ready, notReady int) {
	h.t.Helper()
	e, err := h.api.CoreV1().Endpoints("default").Get(h.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range e.Subsets {
		ready, notReady = ready+len(s.Addresses), notReady+len(s.NotReadyAddresses)
	}
	return ready, notReady
}

func newService() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web", Labels: map[string]string{"team": "a"}},
		Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.9", ClusterIPs: []string{"10.96.0.9"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http")}}}}
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func newPod(name string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), ResourceVersion: "1", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c",
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.64.0." + name[1:], PodIPs: []corev1.PodIP{{IP: "10.64.0." + name[1:]}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

// updatePod writes a changed pod with the next resource version, which the fake API does not set.
func (h *harness) updatePod(name, version string, change func(p *corev1.Pod)) {
	h.t.Helper()
	p, err := h.api.CoreV1().Pods("default").Get(h.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		p.ResourceVersion = version
		change(p)
		_, err = h.api.CoreV1().Pods("default").Update(h.t.Context(), p, metav1.UpdateOptions{})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.settle()
}
