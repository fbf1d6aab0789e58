package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

// TestFinishedPodIsNotRecreated checks that a finished pod is not replaced while the cache has the Job from
// before the pod was counted.
func TestFinishedPodIsNotRecreated(t *testing.T) {
	for _, mode := range []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion} {
		t.Run(string(mode), func(t *testing.T) {
			job, pod := newFinishedJob(mode)
			client := fake.NewSimpleClientset(job, pod)
			client.PrependReactor("update", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
				a.(clienttesting.UpdateAction).GetObject().(*batchv1.Job).ResourceVersion = "10" // a fake API sets none
				return false, nil, nil
			})
			s := newControllerWithStaleCache(t, client, job, pod)
			for range 3 {
				if _, err := s.sync(t.Context(), workloadcontroller.KeyOf(job)); err != nil {
					t.Fatal(err)
				}
			}
			for _, a := range client.Actions() {
				if a.Matches("create", "pods") {
					t.Fatalf("got requests %v, want no pod created after the only one has succeeded", client.Actions())
				}
			}
			got, err := client.BatchV1().Jobs(workloadtest.Namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
			if err != nil || got.Status.Succeeded != 1 || conditionReason(got, batchv1.JobComplete) == "" {
				t.Errorf("error %v, status %+v, want one success", err, got.Status)
			}
		})
	}
}

// newFinishedJob returns a Job with one completion, and its pod, which has succeeded.
func newFinishedJob(mode batchv1.CompletionMode) (*batchv1.Job, *corev1.Pod) {
	one := int32(1)
	tmpl := workloadtest.Template("sum")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "sum", Namespace: workloadtest.Namespace, UID: "job", ResourceVersion: "9"}, Spec: batchv1.JobSpec{
		Completions: &one, Parallelism: &one, CompletionMode: &mode, Selector: &metav1.LabelSelector{MatchLabels: tmpl.Labels}, Template: tmpl}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sum-0", Namespace: workloadtest.Namespace, UID: "pod", Labels: tmpl.Labels,
		Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"}, Finalizers: []string{batchv1.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, Kind)}}, Spec: tmpl.Spec, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	return job, pod
}

// newControllerWithStaleCache returns a controller whose caches never change.
func newControllerWithStaleCache(t *testing.T, client *fake.Clientset, job *batchv1.Job, pod *corev1.Pod) *controller {
	factory, events := informers.NewSharedInformerFactory(client, 0), record.NewFakeRecorder(100)
	pods, err := workloadcontroller.NewPods(&runner.Process{Environment: runner.Production(), Client: client, Informers: factory, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	jobs, podCache := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), factory.Core().V1().Pods().Informer()
	if err := jobs.Add(job); err != nil {
		t.Fatal(err)
	}
	if err := podCache.GetIndexer().Add(pod); err != nil {
		t.Fatal(err)
	}
	m, _ := newMetrics(nil)
	return &controller{env: runner.Production(), metrics: m, client: client, lister: batchlisters.NewJobLister(jobs), pods: pods, podInformer: podCache, dedup: workloadcontroller.NewEventDeduplicator(), untracked: newUntrackedPods(), writes: newWriteCache(), events: events}
}

func TestWriteCacheOverlay(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "sum"}
	job := func(uid types.UID, version string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: uid, ResourceVersion: version}}
	}
	for name, tc := range map[string]struct {
		cached      *batchv1.Job
		wantWritten bool
	}{
		"cache is behind": {job("a", "9"), true},
		"as written":      {job("a", "10"), false},
		"changed later":   {job("a", "11"), false},
		"recreated":       {job("b", "9"), false},
		"deleted":         {nil, false},
	} {
		w, written := newWriteCache(), job("a", "10")
		w.record(written)
		got := w.overlay(key, tc.cached)
		if want := map[bool]*batchv1.Job{true: written, false: tc.cached}[tc.wantWritten]; got != want || (len(w.jobs) == 1) != tc.wantWritten {
			t.Errorf("%s: got %v, want %v; %d Jobs in the write cache", name, got, want, len(w.jobs))
		}
	}
}
