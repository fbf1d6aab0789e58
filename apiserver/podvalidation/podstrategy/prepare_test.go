package podstrategy

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/podtest"
)

func TestMatchLabelKeysAreMerged(t *testing.T) {
	pod := podtest.Pod(t, `{metadata: {labels: {a: x}}, spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution:
		[{weight: 1, podAffinityTerm: {topologyKey: z, labelSelector: {}, matchLabelKeys: [a, missing], mismatchLabelKeys: [a]}}]}}}}`)
	PrepareForCreate(pod)
	got := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchExpressions
	if len(got) != 2 || got[0].Operator != "In" || got[1].Operator != "NotIn" || got[0].Values[0] != "x" {
		t.Errorf("got expressions %v, want a In x and a NotIn x", got)
	}
}

func TestAppArmorAnnotationsBecomeFields(t *testing.T) {
	pod := podtest.Pod(t, `{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: localhost/profile}}}`)
	PrepareForCreate(pod)
	profile := pod.Spec.Containers[0].SecurityContext.AppArmorProfile
	if profile.Type != corev1.AppArmorProfileTypeLocalhost || *profile.LocalhostProfile != "profile" {
		t.Errorf("got %+v, want type Localhost and name profile", profile)
	}
}

func TestDisabledFieldsAreDropped(t *testing.T) {
	pod := podtest.Pod(t, `spec: {schedulingGroup: {podGroupName: g}, containers: [{name: c, image: x, lifecycle: {stopSignal: SIGINT}}],
		initContainers: [{name: i, image: x, restartPolicy: Always, lifecycle: {stopSignal: SIGINT, preStop: {sleep: {seconds: 1}}}}]}`)
	PrepareForCreate(pod)
	sidecar := pod.Spec.InitContainers[0].Lifecycle
	if pod.Spec.SchedulingGroup != nil || pod.Spec.Containers[0].Lifecycle != nil || sidecar.StopSignal != nil || sidecar.PreStop == nil {
		t.Errorf("got group %v, lifecycles %v and %v, want only preStop of the sidecar", pod.Spec.SchedulingGroup, pod.Spec.Containers[0].Lifecycle, sidecar)
	}
}

func TestUpdateRetainsStoredDisabledFields(t *testing.T) {
	oldPod := podtest.Pod(t, `spec: {schedulingGroup: {podGroupName: g}}`)
	newPod := oldPod.DeepCopy()
	PrepareForUpdate(newPod, oldPod)
	if newPod.Spec.SchedulingGroup == nil {
		t.Error("got no schedulingGroup, want that of the stored pod")
	}
}
