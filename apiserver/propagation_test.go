package apiserver_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPropagation: the propagation policy of a delete is stored as finalizers for the garbage
// collector.
func TestPropagation(t *testing.T) {
	server := start(t, withoutServiceAccounts)
	client := clientset(t, server.LoopbackConfig())
	maps := client.CoreV1().ConfigMaps("default")
	foreground, background, orphan := metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan
	for i, tc := range []struct {
		options metav1.DeleteOptions
		has     []string
		want    string // expected finalizers; "gone" if the object is removed
	}{
		{metav1.DeleteOptions{}, nil, "gone"},
		{metav1.DeleteOptions{PropagationPolicy: &background}, nil, "gone"},
		{metav1.DeleteOptions{PropagationPolicy: &foreground}, nil, "[foregroundDeletion]"},
		{metav1.DeleteOptions{PropagationPolicy: &orphan}, nil, "[orphan]"},
		{metav1.DeleteOptions{OrphanDependents: new(true)}, nil, "[orphan]"}, //nolint:staticcheck // the deprecated API is still served
		{metav1.DeleteOptions{}, []string{"orphan"}, "[orphan]"},
		{metav1.DeleteOptions{PropagationPolicy: &background}, []string{"orphan"}, "gone"},
		{metav1.DeleteOptions{PropagationPolicy: &foreground}, []string{"orphan"}, "[foregroundDeletion]"},
	} {
		name := fmt.Sprint("m", i)
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: tc.has}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), name, tc.options); err != nil {
			t.Fatal(err)
		}
		got := "gone"
		if m, err := maps.Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			got = fmt.Sprint(m.Finalizers)
			if m.DeletionTimestamp == nil {
				t.Errorf("%d: the pod is not being deleted", i)
			}
		} else if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		if got != tc.want {
			t.Errorf("%d: %+v with %v leaves %s, want %s", i, tc.options, tc.has, got, tc.want)
		}
	}
	bad := metav1.DeletionPropagation("Sideways")
	if err := maps.Delete(t.Context(), "m2", metav1.DeleteOptions{PropagationPolicy: &bad}); !apierrors.IsInvalid(err) {
		t.Errorf("an unknown propagation policy: %v", err)
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
		t.Errorf("the deleted job is %+v, %v", j, err)
	}
}
