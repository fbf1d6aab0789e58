package job

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

var controllers = []workloadtest.Controller{func(ctx context.Context, s *workloadtest.Env, factory informers.SharedInformerFactory) error {
	return Run(ctx, s.Process(factory), nil, nil)
}}

func createJob(s *workloadtest.Env, completions, parallelism int32, edits ...func(*batchv1.Job)) {
	s.Helper()
	t := workloadtest.Template("sum")
	t.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "sum", Namespace: workloadtest.Namespace}, Spec: batchv1.JobSpec{
		Completions: &completions, Parallelism: &parallelism, Selector: &metav1.LabelSelector{MatchLabels: t.Labels}, Template: t,
	}}
	for _, e := range edits {
		e(job)
	}
	if _, err := s.BatchV1().Jobs(workloadtest.Namespace).Create(s.Context(), job, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func getJob(s *workloadtest.Env) *batchv1.Job {
	s.Helper()
	job, err := s.BatchV1().Jobs(workloadtest.Namespace).Get(s.Context(), "sum", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return job
}

// conditionReason returns the reason of a condition that is true, or "".
func conditionReason(j *batchv1.Job, kind batchv1.JobConditionType) string {
	for _, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// terminateWith ends pods one second after they start.
func terminateWith(phase corev1.PodPhase, code int32) func(p *corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		if p.Status.Phase != corev1.PodRunning {
			return false
		}
		workloadtest.Terminate(p, phase, "", code)
		return true
	}
}

func TestCompletionAndTTL(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		s.SetPodHook(terminateWith(corev1.PodSucceeded, 0))
		ttl, indexed := int32(100), batchv1.IndexedCompletion
		createJob(s, 5, 2, func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished, j.Spec.CompletionMode = &ttl, &indexed })
		s.Settle(time.Minute)
		job := getJob(s)
		if st := job.Status; conditionReason(job, batchv1.JobComplete) != "CompletionsReached" || st.Succeeded != 5 || st.CompletedIndexes != "0-4" || st.Active != 0 || st.CompletionTime == nil {
			t.Errorf("status %+v, want 5 completions and none active", st)
		}
		pods := s.Pods()
		for i := range pods {
			p := &pods[i]
			if isTracked(p) || p.Spec.Hostname != "sum-"+p.Annotations[batchv1.JobCompletionIndexAnnotation] || p.Spec.Containers[0].Env[0].Name != "JOB_COMPLETION_INDEX" {
				t.Errorf("pod %s: metadata %+v, spec %+v, want no finalizer, and hostname and environment of the index", p.Name, p.ObjectMeta, p.Spec)
			}
		}
		if len(pods) != 5 || s.EventCount("Completed") != 1 || s.EventCount("SuccessfulCreate") == 0 {
			t.Errorf("%d pods, %d create events, %d completions, want 5 pods and 1 completion", len(pods), s.EventCount("SuccessfulCreate"), s.EventCount("Completed"))
		}
		s.Settle(2 * time.Minute)
		if _, err := s.BatchV1().Jobs(workloadtest.Namespace).Get(t.Context(), "sum", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("reading the Job after its TTL: error %v, want NotFound", err)
		}
	})
}

func TestBackoffLimit(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		s.SetPodHook(terminateWith(corev1.PodFailed, 1))
		limit := int32(2)
		createJob(s, 1, 1, func(j *batchv1.Job) { j.Spec.BackoffLimit = &limit })
		s.Settle(20 * time.Second)
		if st := getJob(s).Status; st.Failed != 2 || st.Active != 0 && st.Active != 1 {
			t.Errorf("after 20 s: status %+v, want two failures and then a backoff of 20 s", st)
		}
		s.Settle(time.Minute)
		if job := getJob(s); conditionReason(job, batchv1.JobFailed) != "BackoffLimitExceeded" || job.Status.Failed != 3 || s.EventCount("BackoffLimitExceeded") != 1 {
			t.Errorf("status %+v, want 3 failures and BackoffLimitExceeded", job.Status)
		}
	})
}

func TestSuspend(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		createJob(s, 2, 2)
		s.Settle(10 * time.Second)
		suspend := func(value bool) {
			job := getJob(s)
			job.Spec.Suspend = &value
			if _, err := s.BatchV1().Jobs(workloadtest.Namespace).Update(t.Context(), job, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			s.Settle(10 * time.Second)
		}
		suspend(true)
		if job := getJob(s); len(s.Pods()) != 0 || conditionReason(job, batchv1.JobSuspended) == "" || job.Status.Failed != 0 {
			t.Errorf("suspended: %d pods, status %+v, want none and the condition Suspended", len(s.Pods()), job.Status)
		}
		suspend(false)
		if job := getJob(s); len(s.Pods()) != 2 || conditionReason(job, batchv1.JobSuspended) != "" || job.Status.Active != 2 {
			t.Errorf("resumed: %d pods, status %+v, want 2 and no condition Suspended", len(s.Pods()), job.Status)
		}
	})
}

// TestOrphanedPodsAreReleased checks that the finalizer does not block the deletion of orphaned pods.
func TestOrphanedPodsAreReleased(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		createJob(s, 2, 2)
		s.Settle(10 * time.Second)
		if err := s.BatchV1().Jobs(workloadtest.Namespace).Delete(t.Context(), "sum", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Settle(10 * time.Second)
		for _, p := range s.Pods() {
			if isTracked(&p) {
				t.Errorf("pod %s has the finalizer, want it removed", p.Name)
			}
		}
	})
}

// TestPodsAreCountedOnceDespiteRejectedWrites checks that each pod is counted once although the API rejects every second
// write.
func TestPodsAreCountedOnceDespiteRejectedWrites(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		n := 0
		s.Set(func(a clienttesting.Action) (bool, runtime.Object, error) {
			switch a.GetVerb() + " " + a.GetResource().Resource + "/" + a.GetSubresource() {
			case "update jobs/status", "patch pods/", "create pods/":
				if n++; n%2 == 0 {
					return true, nil, apierrors.NewTooManyRequestsError("try again")
				}
			}
			return false, nil, nil
		})
		s.SetPodHook(terminateWith(corev1.PodSucceeded, 0))
		createJob(s, 6, 3)
		s.Settle(5 * time.Minute)
		if job := getJob(s); conditionReason(job, batchv1.JobComplete) == "" || job.Status.Succeeded != 6 || len(s.Pods()) != 6 {
			t.Errorf("%d pods, status %+v, want 6 succeeded pods and a complete Job", len(s.Pods()), job.Status)
		}
	})
}
