package podtemplate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatefulPodName returns the name of a StatefulSet's pod.
func StatefulPodName(set string, ordinal int32) string { return fmt.Sprintf("%s-%d", set, ordinal) }

// Ordinal returns the ordinal of a StatefulSet's pod. ok is false if the set has no pod of this name.
func Ordinal(set, pod string) (n int32, ok bool) {
	text, ok := strings.CutPrefix(pod, set+"-")
	v, err := strconv.ParseInt(text, 10, 32)
	return int32(v), ok && err == nil && v >= 0 && strconv.FormatInt(v, 10) == text
}

// StatefulPod returns a pod of a StatefulSet with template t, which may be of an older revision.
func StatefulPod(set *appsv1.StatefulSet, t *corev1.PodTemplateSpec, owner metav1.OwnerReference, ordinal int32, revision string) *corev1.Pod {
	pod := Pod(t, set.Namespace, owner)
	pod.Name = StatefulPodName(set.Name, ordinal)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	SetIdentity(set, pod, ordinal)
	pod.Labels[RevisionLabel] = revision
	return pod
}

// SetIdentity sets the labels and volumes of an ordinal. It reports whether the pod had them already.
func SetIdentity(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int32) (unchanged bool) {
	name, number := StatefulPodName(set.Name, ordinal), strconv.Itoa(int(ordinal))
	unchanged = pod.Labels[appsv1.StatefulSetPodNameLabel] == name && pod.Labels[appsv1.PodIndexLabel] == number
	if !unchanged {
		if pod.Labels = maps.Clone(pod.Labels); pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[appsv1.StatefulSetPodNameLabel], pod.Labels[appsv1.PodIndexLabel] = name, number
	}
	for i := range set.Spec.VolumeClaimTemplates {
		c := &set.Spec.VolumeClaimTemplates[i]
		claim := claimName(set, c.Name, ordinal)
		j := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == c.Name })
		if j >= 0 && pod.Spec.Volumes[j].PersistentVolumeClaim != nil && pod.Spec.Volumes[j].PersistentVolumeClaim.ClaimName == claim {
			continue
		}
		unchanged = false
		v := corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
		if j >= 0 {
			pod.Spec.Volumes[j] = v // overrides the template's volume of that name
		} else {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v)
		}
	}
	return unchanged
}

func claimName(set *appsv1.StatefulSet, volume string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", volume, set.Name, ordinal)
}

// Claims returns the claims of a StatefulSet's pod, without owners.
func Claims(set *appsv1.StatefulSet, ordinal int32) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range set.Spec.VolumeClaimTemplates {
		t := &set.Spec.VolumeClaimTemplates[i]
		c := &corev1.PersistentVolumeClaim{Spec: *t.Spec.DeepCopy()}
		c.Namespace, c.Name = set.Namespace, claimName(set, t.Name, ordinal)
		c.Annotations, c.Labels, c.Finalizers = maps.Clone(t.Annotations), maps.Clone(t.Labels), slices.Clone(t.Finalizers)
		if set.Spec.Selector != nil && len(set.Spec.Selector.MatchLabels) > 0 {
			if c.Labels == nil {
				c.Labels = map[string]string{}
			}
			maps.Copy(c.Labels, set.Spec.Selector.MatchLabels)
		}
		out = append(out, c)
	}
	return out
}
