package podtemplate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/workload"
)

// indexVariable is the environment variable with the index of an indexed Job's pod.
const indexVariable = "JOB_COMPLETION_INDEX"

// JobPod returns a pod of a Job. It has the tracking finalizer, a generateName, and no name.
func JobPod(job *batchv1.Job, owner metav1.OwnerReference, c workload.JobCreate) *corev1.Pod {
	pod := Pod(&job.Spec.Template, job.Namespace, owner)
	pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	pod.GenerateName = NamePrefix(job.Name)
	if c.Index == workload.NoIndex {
		return pod
	}
	index := strconv.Itoa(int(c.Index))
	pod.GenerateName = NamePrefix(fmt.Sprintf("%s-%s", job.Name, index))
	pod.Spec.Hostname = fmt.Sprintf("%s-%s", job.Name, index)
	setKey(&pod.Annotations, batchv1.JobCompletionIndexAnnotation, index)
	setKey(&pod.Labels, batchv1.JobCompletionIndexAnnotation, index)
	if job.Spec.BackoffLimitPerIndex != nil {
		setKey(&pod.Annotations, batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(int(c.Failures)))
		if c.Ignored > 0 {
			setKey(&pod.Annotations, batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(int(c.Ignored)))
		}
	}
	addIndexEnv(pod.Spec.InitContainers)
	addIndexEnv(pod.Spec.Containers)
	return pod
}

func setKey(m *map[string]string, key, value string) {
	if *m = maps.Clone(*m); *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

func addIndexEnv(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
			continue
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation),
		}}})
	}
}
