package poddefaults

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/apiserver/podvalidation/podtest"
)

func TestDefaultPullPolicyDependsOnTag(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"app":                        corev1.PullAlways,
		"app:latest":                 corev1.PullAlways,
		"app:1":                      corev1.PullIfNotPresent,
		"localhost:5000/team/app":    corev1.PullAlways,
		"localhost:5000/team/app:v2": corev1.PullIfNotPresent,
		"Not An Image":               corev1.PullIfNotPresent,
		"app@sha256:0000000000000000000000000000000000000000000000000000000000000000": corev1.PullIfNotPresent,
	} {
		if got := pullPolicyFor(image); got != want {
			t.Errorf("%s: got %s, want %s", image, got, want)
		}
	}
}

func TestDefaultingIsIdempotent(t *testing.T) {
	pod := podtest.Pod(t, `spec: {hostNetwork: true, resources: {limits: {cpu: 1}}, volumes: [{name: a}, {name: b, iscsi: {iqn: q}}],
		containers: [{name: c, image: x, ports: [{containerPort: 80}], resources: {limits: {memory: 1Gi}}, livenessProbe: {grpc: {port: 1}}}]}`)
	DefaultPod(pod)
	first := pod.DeepCopy()
	DefaultPod(pod)
	if !equality.Semantic.DeepEqual(first, pod) {
		t.Errorf("second defaulting:\n got %+v\nwant %+v", pod.Spec, first.Spec)
	}
}

func TestDefaultPodSetsDefaults(t *testing.T) {
	pod := podtest.Pod(t, `spec: {hostNetwork: true, terminationGracePeriodSeconds: -7, serviceAccount: s,
		containers: [{name: c, image: x, ports: [{containerPort: 80}], resources: {limits: {cpu: 100u}}}]}`)
	DefaultPod(pod)
	c := pod.Spec.Containers[0]
	if *pod.Spec.TerminationGracePeriodSeconds != 1 {
		t.Errorf("grace period -7: got %d, want 1", *pod.Spec.TerminationGracePeriodSeconds)
	}
	if pod.Spec.ServiceAccountName != "s" {
		t.Errorf("got serviceAccountName %q, want s", pod.Spec.ServiceAccountName)
	}
	if c.Ports[0].HostPort != 80 || c.Ports[0].Protocol != corev1.ProtocolTCP {
		t.Errorf("port with hostNetwork: got %+v, want TCP with host port 80", c.Ports[0])
	}
	if got := c.Resources.Requests[corev1.ResourceCPU]; got.String() != "1m" {
		t.Errorf("100u of CPU: got %s, want 1m", got.String())
	}
}

func TestDefaultPodTemplateSetsNoPodDefaults(t *testing.T) {
	pod := podtest.Pod(t, `spec: {hostNetwork: true, containers: [{name: c, image: x, ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}}]}`)
	template := corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	DefaultPodTemplate(&template)
	c := template.Spec.Containers[0]
	if c.Ports[0].HostPort != 0 || c.Resources.Requests != nil || template.Spec.EnableServiceLinks != nil {
		t.Errorf("got host port %d, requests %v, service links %v, want none", c.Ports[0].HostPort, c.Resources.Requests, template.Spec.EnableServiceLinks)
	}
}

func TestPodLevelRequestDefaults(t *testing.T) {
	for _, tc := range []struct{ name, patch, cpu, memory string }{
		{"from the limits", `spec: {resources: {limits: {cpu: 1, memory: 1Gi}}}`, "1", "1Gi"},
		{"from container requests, before limits",
			`spec: {resources: {limits: {cpu: 1, memory: 1Gi}}, containers: [{name: c, image: x, resources: {requests: {cpu: 200m}}}]}`, "200m", "1Gi"},
		{"none if only requests are set",
			`spec: {resources: {requests: {cpu: 1}}, containers: [{name: c, image: x, resources: {requests: {memory: 1Gi}}}]}`, "1", "0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := podtest.Pod(t, tc.patch)
			DefaultPod(pod)
			got := pod.Spec.Resources.Requests
			if got.Cpu().Cmp(resource.MustParse(tc.cpu)) != 0 || got.Memory().Cmp(resource.MustParse(tc.memory)) != 0 {
				t.Errorf("got %v, want cpu %s and memory %s", got, tc.cpu, tc.memory)
			}
		})
	}
}
