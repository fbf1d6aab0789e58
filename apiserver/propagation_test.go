package apiserver_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPropagationPolicySetsFinalizers checks that the propagation policy of a delete is stored as finalizers for
// the garbage collector.
func TestPropagationPolicySetsFinalizers(t *testing.T) {
	server := start(t, withoutServiceAccounts)
	client := clientset(t, server.LoopbackConfig())
	configMaps := client.CoreV1().ConfigMaps("default")
	foreground, background, orphan := metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan
	for i, tc := range []struct {
		options    metav1.DeleteOptions
		finalizers []string
		want       string // finalizers, or "deleted"
	}{
		{metav1.DeleteOptions{}, nil, "deleted"},
		{metav1.DeleteOptions{PropagationPolicy: &background}, nil, "deleted"},
		{metav1.DeleteOptions{PropagationPolicy: &foreground}, nil, "[foregroundDeletion]"},
		{metav1.DeleteOptions{PropagationPolicy: &orphan}, nil, "[orphan]"},
		{metav1.DeleteOptions{OrphanDependents: new(true)}, nil, "[orphan]"}, //nolint:staticcheck // the deprecated API is still served
		{metav1.DeleteOptions{}, []string{"orphan"}, "[orphan]"},
		{metav1.DeleteOptions{PropagationPolicy: &background}, []string{"orphan"}, "deleted"},
		{metav1.DeleteOptions{PropagationPolicy: &foreground}, []string{"orphan"}, "[foregroundDeletion]"},
	} {
		name := fmt.Sprint("m", i)
		if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: tc.finalizers}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := configMaps.Delete(t.Context(), name, tc.options); err != nil {
			t.Fatal(err)
		}
		got := "deleted"
		if m, err := configMaps.Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			got = fmt.Sprint(m.Finalizers)
			if m.DeletionTimestamp == nil {
				t.Errorf("%d: the ConfigMap is not being deleted", i)
			}
		} else if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		if got != tc.want {
			t.Errorf("%d: delete with %+v and finalizers %v: got %s, want %s", i, tc.options, tc.finalizers, got, tc.want)
		}
	}
	unknown := metav1.DeletionPropagation("Sideways")
	if err := configMaps.Delete(t.Context(), "m2", metav1.DeleteOptions{PropagationPolicy: &unknown}); !apierrors.IsInvalid(err) {
		t.Errorf("unknown propagation policy: %v, want invalid", err)
	}
	// Deleting a Job orphans its pods unless the request sets a propagation policy.
	jobs := client.BatchV1().Jobs("default")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := jobs.Delete(t.Context(), "j", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if j, err := jobs.Get(t.Context(), "j", metav1.GetOptions{}); err != nil || fmt.Sprint(j.Finalizers) != "[orphan]" {
		t.Errorf("got deleted job %+v and error %v, want the finalizer orphan", j, err)
	}
}
