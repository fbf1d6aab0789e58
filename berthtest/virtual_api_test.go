package berthtest_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/berthtest"
)

func TestVirtualAPIPatches(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		maps := c.Client.CoreV1().ConfigMaps("default")
		created, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []struct {
			kind types.PatchType
			data string
		}{
			{types.JSONPatchType, `[{"op":"add","path":"/data/b","value":"2"}]`},
			{types.MergePatchType, `{"data":{"c":"3"}}`},
			{types.StrategicMergePatchType, `{"data":{"a":null}}`},
		} {
			if _, err := maps.Patch(t.Context(), created.Name, p.kind, []byte(p.data), metav1.PatchOptions{}); err != nil {
				t.Errorf("%s: %v", p.kind, err)
			}
		}
		m, err := maps.Get(t.Context(), created.Name, metav1.GetOptions{})
		if err != nil || len(m.Data) != 2 || m.Data["b"] != "2" || m.Data["c"] != "3" {
			t.Errorf("got data %v, %v, want b and c", m.Data, err)
		}
		if _, err := maps.Update(t.Context(), created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("update of an old version: %v, want a conflict", err)
		}
		_, err = maps.Apply(t.Context(), corev1apply.ConfigMap(created.Name, "default"), metav1.ApplyOptions{FieldManager: "test"})
		if !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("server-side apply: %v, want unsupported media type", err)
		}
	})
}

func TestVirtualAPIRejects(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		pods := func(namespace string) error {
			_, err := c.Client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
				Spec: corev1.PodSpec{PriorityClassName: "none", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
			return err
		}
		_, empty := c.Client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
		_, job := c.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}, metav1.CreateOptions{})
		_, field := c.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.image=i"})
		namespace := c.Client.CoreV1().Namespaces().Delete(t.Context(), "default", metav1.DeleteOptions{})
		orphan := c.Client.AppsV1().Deployments("default").Delete(t.Context(), "d", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)})
		precondition := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}}
		eviction := c.Client.CoreV1().Pods("default").EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: precondition})
		for _, tc := range []struct {
			err  error
			is   func(error) bool
			want string
		}{
			{pods("default"), apierrors.IsForbidden, "no PriorityClass with name none was found"},
			{pods("missing"), apierrors.IsNotFound, `namespaces "missing" not found`},
			{empty, apierrors.IsInvalid, "spec.containers: Required value"},
			{job, apierrors.IsNotFound, "the API in virtual time does not serve it"},
			{field, apierrors.IsBadRequest, "field label not supported: spec.image"},
			{namespace, apierrors.IsMethodNotSupported, "delete is not supported"},
			{eviction, apierrors.IsBadRequest, "preconditions.resourceVersion: must not be set in virtual time"},
			{orphan, apierrors.IsBadRequest, "propagationPolicy Orphan: must be Background in virtual time"},
		} {
			if !tc.is(tc.err) || !strings.Contains(tc.err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", tc.err, tc.want)
			}
		}
	})
}

// TestVirtualAPIWatch checks that an object that begins or ceases to match a selector is added or deleted.
func TestVirtualAPIWatch(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		leases := c.Client.CoordinationV1().Leases("kube-system")
		list, err := leases.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lease, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := leases.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, LabelSelector: "a=b"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for _, labels := range []map[string]string{{"a": "b"}, {"a": "b", "c": "d"}, {}} {
			lease.Labels = labels
			if lease, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			if e := <-w.ResultChan(); e.Type != want {
				t.Errorf("got event %s of %v, want %s", e.Type, e.Object, want)
			}
		}
	})
}

// TestVirtualGarbageCollectionAfterAnUpdate checks that an object is deleted if an update adds an owner that does not exist.
func TestVirtualGarbageCollectionAfterAnUpdate(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		maps := c.Client.CoreV1().ConfigMaps("default")
		m, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "gone", UID: "1"}}
		if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		if _, err := maps.Get(t.Context(), "m", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("got error %v, want not found: the owner does not exist", err)
		}
	})
}

func TestVirtualAPIDiscovery(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, l := range lists {
			for _, r := range l.APIResources {
				found[l.GroupVersion+"/"+r.Name] = true
			}
		}
		for _, want := range []string{"v1/pods", "v1/pods/status", "apps/v1/deployments", "policy/v1/poddisruptionbudgets", "coordination.k8s.io/v1/leases", "berth.dev/v1alpha1/holds"} {
			if !found[want] {
				t.Errorf("discovery does not have %s", want)
			}
		}
	})
}
