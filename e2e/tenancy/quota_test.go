package tenancy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/controllers/resourcequota"
	"github.com/berthproject/berth/controllers/runner"
)

// startQuotaController runs the quota controller until the test ends.
func (c cluster) startQuotaController() {
	c.t.Helper()
	objects, err := metadata.NewForConfig(c.LoopbackConfig())
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- resourcequota.Run(ctx, c.client, objects, informers.NewSharedInformerFactory(c.client, 0), runner.Production(), klog.Background())
	}()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
}

// createQuota creates the quota q.
func (c cluster) createQuota(hard corev1.ResourceList) {
	c.t.Helper()
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	if _, err := c.client.CoreV1().ResourceQuotas("default").Create(c.t.Context(), q, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// waitForUsed waits until the usage of a resource in the status of the quota q is want.
func (c cluster) waitForUsed(name corev1.ResourceName, want string) {
	c.t.Helper()
	c.waitUntil(func() string {
		q, err := c.client.CoreV1().ResourceQuotas("default").Get(c.t.Context(), "q", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if got, found := q.Status.Used[name]; !found || got.String() != want {
			return fmt.Sprintf("got usage of %s %s, want %s", name, got.String(), want)
		}
		return ""
	})
}

// TestQuotaWithoutStatusRejects checks that a quota whose usage was never computed rejects the objects that
// it limits.
func TestQuotaWithoutStatusRejects(t *testing.T) {
	c := newCluster(t)
	c.createQuota(corev1.ResourceList{"pods": resource.MustParse("2")})
	_, err := c.client.CoreV1().Pods("default").Create(t.Context(), newPod("p-"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "status unknown for quota: q, resources: pods") {
		t.Errorf("a pod under a quota without a status: got error %v, want Forbidden because of the status", err)
	}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a kind that the quota does not limit: %v", err)
	}
}

// TestConcurrentCreatorsCannotExceedQuota checks that concurrent creators cannot exceed a quota, also while
// pods are deleted and the controller updates the usage.
func TestConcurrentCreatorsCannotExceedQuota(t *testing.T) {
	const limit, creators = 10, 100
	c := newCluster(t)
	c.startQuotaController()
	c.createQuota(corev1.ResourceList{"pods": resource.MustParse(fmt.Sprint(limit)), "count/configmaps": resource.MustParse("1")})
	c.waitForUsed("pods", "0")
	pods := c.client.CoreV1().Pods("default")
	createAll := func() (created int) {
		var wg sync.WaitGroup
		var admitted atomic.Int32
		for range creators {
			wg.Go(func() {
				_, err := pods.Create(t.Context(), newPod("p-"), metav1.CreateOptions{})
				switch {
				case err == nil:
					admitted.Add(1)
				case !apierrors.IsForbidden(err):
					t.Errorf("a pod beyond the quota: got error %v, want Forbidden", err)
				}
			})
		}
		wg.Wait()
		return int(admitted.Load())
	}
	if got := createAll(); got != limit {
		t.Fatalf("%d of %d concurrent creators succeeded, want %d", got, creators, limit)
	}
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items[:3] {
		if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	for remaining := 3; remaining > 0; remaining -= createAll() { // until the controller has subtracted all deleted pods
	}
	if list, err = pods.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != limit {
		t.Errorf("got %d pods, want %d: %v", len(list.Items), limit, err)
	}
	c.waitForUsed("pods", fmt.Sprint(limit))
}

// limitedResources is an admission configuration that limits pods of two priority classes and pods with
// affinity across namespaces.
const limitedResources = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: pods
      matchScopes:
      - {scopeName: PriorityClass, operator: In, values: [system-cluster-critical, gold]}
      - {scopeName: CrossNamespacePodAffinity, operator: Exists}
`

// TestLimitedScopesNeedQuota checks that pods in the scopes that the configuration limits require a quota
// that allows them.
func TestLimitedScopesNeedQuota(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(file, []byte(limitedResources), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, func(o *apiserver.Options) { o.AdmissionConfigFile = file })
	c.startQuotaController()
	if _, err := c.client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Value: 1}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	withClass := func(name string) *corev1.Pod {
		pod := newPod("p-")
		pod.Spec.PriorityClassName = name
		return pod
	}
	withAffinity := newPod("p-")
	withAffinity.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: "kubernetes.io/hostname", NamespaceSelector: &metav1.LabelSelector{}, LabelSelector: &metav1.LabelSelector{}}}}}
	pods := c.client.CoreV1().Pods("default")
	for name, pod := range map[string]*corev1.Pod{"system class": withClass("system-cluster-critical"), "class": withClass("gold"), "affinity": withAffinity} {
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "insufficient quota to match these scopes") {
			t.Errorf("%s without a quota: got error %v, want \"insufficient quota\"", name, err)
		}
	}
	if _, err := pods.Create(t.Context(), newPod("p-"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a pod in no limited scope: %v", err)
	}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("1")},
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"gold"}}}}}}
	if _, err := c.client.CoreV1().ResourceQuotas("default").Create(t.Context(), q, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitForUsed("pods", "0")
	if _, err := pods.Create(t.Context(), withClass("gold"), metav1.CreateOptions{}); err != nil {
		t.Errorf("the first pod of the class: %v", err)
	}
	if _, err := pods.Create(t.Context(), withClass("gold"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: q") {
		t.Errorf("the second pod of the class: got error %v, want \"exceeded quota: q\"", err)
	}
}
