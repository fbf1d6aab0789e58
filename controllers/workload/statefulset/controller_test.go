package statefulset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

var controllers = []workloadtest.Controller{func(ctx context.Context, s *workloadtest.Env, factory informers.SharedInformerFactory) error {
	return Run(ctx, s.Process(factory), nil)
}}

func createStatefulSet(s *workloadtest.Env, replicas int32, edits ...func(*appsv1.StatefulSet)) {
	s.Helper()
	t := workloadtest.Template("store")
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "store", Namespace: workloadtest.Namespace}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: t.Labels}, Template: t, ServiceName: "stores", PodManagementPolicy: appsv1.OrderedReadyPodManagement,
		UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
	}}
	for _, e := range edits {
		e(set)
	}
	if _, err := s.AppsV1().StatefulSets(workloadtest.Namespace).Create(s.Context(), set, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.Settle(time.Minute)
}

func getStatefulSet(s *workloadtest.Env) *appsv1.StatefulSet {
	s.Helper()
	set, err := s.AppsV1().StatefulSets(workloadtest.Namespace).Get(s.Context(), "store", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return set
}

func updateStatefulSet(s *workloadtest.Env, edit func(*appsv1.StatefulSet)) {
	s.Helper()
	set := getStatefulSet(s)
	edit(set)
	if _, err := s.AppsV1().StatefulSets(workloadtest.Namespace).Update(s.Context(), set, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.Settle(time.Minute)
}

func checkPods(s *workloadtest.Env, step string, want ...string) {
	s.Helper()
	var got []string
	for _, p := range s.Pods() {
		got = append(got, p.Name+" "+p.Spec.Containers[0].Image)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		s.Errorf("%s: pods %q, want %q", step, got, want)
	}
}

// listClaims returns the claims as "name owner", sorted.
func listClaims(s *workloadtest.Env) (out []string) {
	s.Helper()
	list, err := s.CoreV1().PersistentVolumeClaims(workloadtest.Namespace).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, c := range list.Items {
		fields := []string{c.Name}
		for _, r := range c.OwnerReferences {
			fields = append(fields, r.Kind, r.Name)
		}
		out = append(out, strings.Join(fields, " "))
	}
	slices.Sort(out)
	return out
}

func TestOrderedPodsAndClaims(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		createStatefulSet(s, 3)
		checkPods(s, "created", "store-0 store:1", "store-1 store:1", "store-2 store:1")
		pods := s.Pods()
		slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		for i, p := range pods {
			if n := fmt.Sprint("store-", i); p.Name != n || p.Spec.Hostname != n || p.Spec.Subdomain != "stores" || p.Labels[appsv1.PodIndexLabel] != fmt.Sprint(i) ||
				p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-"+n {
				t.Errorf("pod %d: name %s, labels %v, spec %+v, want those of %s", i, p.Name, p.Labels, p.Spec, n)
			}
		}
		updateStatefulSet(s, func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = "store:2" })
		checkPods(s, "rolled out", "store-0 store:2", "store-1 store:2", "store-2 store:2")
		if st := getStatefulSet(s).Status; st.CurrentRevision != st.UpdateRevision || st.UpdatedReplicas != 3 || st.AvailableReplicas != 3 {
			t.Errorf("status %+v, want 3 updated and available", st)
		}
		updateStatefulSet(s, func(set *appsv1.StatefulSet) {
			partition := int32(2)
			set.Spec.UpdateStrategy.RollingUpdate.Partition = &partition
			set.Spec.Template.Spec.Containers[0].Image = "store:3"
		})
		checkPods(s, "partly rolled out", "store-0 store:2", "store-1 store:2", "store-2 store:3")
		if err := s.CoreV1().Pods(workloadtest.Namespace).Delete(t.Context(), "store-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Settle(time.Minute)
		checkPods(s, "a pod below the partition is recreated with the old revision", "store-0 store:2", "store-1 store:2", "store-2 store:3")
		one := int32(1)
		updateStatefulSet(s, func(set *appsv1.StatefulSet) { set.Spec.Replicas = &one })
		checkPods(s, "scaled down", "store-0 store:2")
		if got, want := listClaims(s), []string{"data-store-0", "data-store-1", "data-store-2"}; !slices.Equal(got, want) {
			t.Errorf("claims %q, want %q: claims are retained", got, want)
		}
	})
}

func TestClaimRetentionPolicy(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		createStatefulSet(s, 2, func(set *appsv1.StatefulSet) {
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		})
		if got, want := listClaims(s), []string{"data-store-0 StatefulSet store", "data-store-1 StatefulSet store"}; !slices.Equal(got, want) {
			t.Errorf("claims %q, want %q", got, want)
		}
		one, two := int32(1), int32(2)
		updateStatefulSet(s, func(set *appsv1.StatefulSet) { set.Spec.Replicas = &one })
		if got, want := listClaims(s), []string{"data-store-0 StatefulSet store", "data-store-1 Pod store-1"}; !slices.Equal(got, want) {
			t.Errorf("scaled down, claims %q, want %q", got, want)
		}
		updateStatefulSet(s, func(set *appsv1.StatefulSet) { set.Spec.Replicas = &two })
		checkPods(s, "the claim of the deleted pod is terminating", "store-0 store:1")
		if err := s.CoreV1().PersistentVolumeClaims(workloadtest.Namespace).Delete(t.Context(), "data-store-1", metav1.DeleteOptions{}); err != nil { // as the garbage collector does
			t.Fatal(err)
		}
		s.Settle(time.Minute)
		checkPods(s, "the claim is deleted", "store-0 store:1", "store-1 store:1")
	})
}

// TestScaleDownWaitsForClaimOwner checks that a surplus pod is not deleted before its claim has the owner reference. The
// pod is pending, so its deletion has immediate effect.
func TestScaleDownWaitsForClaimOwner(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		s.SetPodHook(func(p *corev1.Pod) bool { return p.Name == "store-1" })
		createStatefulSet(s, 2, func(set *appsv1.StatefulSet) {
			set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		})
		updates := 0
		s.On("update", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			if updates++; updates > 2 {
				return false, nil, nil
			}
			return true, nil, apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), "data-store-1", errors.New("it is being bound"))
		})
		one := int32(1)
		updateStatefulSet(s, func(set *appsv1.StatefulSet) { set.Spec.Replicas = &one })
		checkPods(s, "scaled down", "store-0 store:1")
		if got, want := listClaims(s), []string{"data-store-0", "data-store-1 Pod store-1"}; !slices.Equal(got, want) || updates != 3 {
			t.Errorf("claims %q, want %q; %d updates, want 3", got, want, updates)
		}
	})
}

// TestScaleDownReadsClaimLive checks that the claim of a surplus pod is read from the API server if it is not in the
// cache.
func TestScaleDownReadsClaimLive(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-store-1", Namespace: workloadtest.Namespace}}
	client := fake.NewSimpleClientset(claim)
	s := &controller{client: client, claims: corelisters.NewPersistentVolumeClaimLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "store", Namespace: workloadtest.Namespace}, Spec: appsv1.StatefulSetSpec{
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "store-1", UID: "pod"}}
	for _, name := range []string{claim.Name, "more-store-1"} { // the second claim does not exist
		if err := s.syncClaim(t.Context(), set, pod, name, true); err != nil {
			t.Error(err)
		}
	}
	got, err := client.CoreV1().PersistentVolumeClaims(workloadtest.Namespace).Get(t.Context(), claim.Name, metav1.GetOptions{})
	if err != nil || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != pod.UID {
		t.Errorf("error %v, owners %v, want the pod", err, got.OwnerReferences)
	}
}

// TestFailedPodIsRecreated checks that a failed pod is recreated immediately at first, and then with a doubling backoff.
func TestFailedPodIsRecreated(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		s.SetPodHook(func(p *corev1.Pod) bool {
			workloadtest.Terminate(p, corev1.PodFailed, "NodeAffinity", 1)
			return true
		})
		createStatefulSet(s, 1)
		s.Settle(time.Hour)
		if n := s.EventCount("RecreatingFailedPod"); n < 5 || n > 14 {
			t.Errorf("recreated %d times in an hour, want 5 to 14", n)
		}
	})
}
