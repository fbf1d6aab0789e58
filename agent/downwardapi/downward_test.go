package downwardapi

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestField(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u1",
			Labels: map[string]string{"b": "2", "a": "1"}, Annotations: map[string]string{"berth.dev/x": "say \"hi\"\n"}},
		Spec: corev1.PodSpec{NodeName: "n1", ServiceAccountName: "sa"},
		Status: corev1.PodStatus{PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			HostIP: "192.0.2.1", HostIPs: []corev1.HostIP{{IP: "192.0.2.1"}}},
	}
	for path, want := range map[string]string{
		"metadata.name": "web", "metadata.namespace": "shop", "metadata.uid": "u1",
		"metadata.labels": "a=\"1\"\nb=\"2\"", "metadata.labels['b']": "2", "metadata.labels['none']": "",
		"metadata.annotations": `berth.dev/x="say \"hi\"\n"`, "metadata.annotations['berth.dev/x']": "say \"hi\"\n",
		"spec.nodeName": "n1", "spec.serviceAccountName": "sa",
		"status.podIP": "10.0.0.1", "status.podIPs": "10.0.0.1,fd00::1", "status.hostIP": "192.0.2.1", "status.hostIPs": "192.0.2.1",
	} {
		if got, err := Field(pod, path); err != nil || got != want {
			t.Errorf("Field(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"", "spec.containers", "metadata.labels['a", "status.phase"} {
		if got, err := Field(pod, path); err == nil {
			t.Errorf("Field(%q) = %q, want an error", path, got)
		}
	}
}

func TestResource(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{
			{Name: "main", Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("100Mi")},
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")},
			}},
			{Name: "unlimited"},
		},
		InitContainers: []corev1.Container{{Name: "init"}},
	}}
	allocatable := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}
	for name, tc := range map[string]struct {
		container, containerName, resource, divisor, want string
	}{
		"cores are rounded up":          {container: "main", resource: "limits.cpu", want: "2"},
		"millicores":                    {container: "main", resource: "limits.cpu", divisor: "1m", want: "1500"},
		"request":                       {container: "main", resource: "requests.cpu", divisor: "1m", want: "250"},
		"bytes":                         {container: "main", resource: "limits.memory", want: "104857600"},
		"mebibytes":                     {container: "main", resource: "limits.memory", divisor: "1Mi", want: "100"},
		"no limit: allocatable":         {container: "unlimited", resource: "limits.memory", divisor: "1Gi", want: "8"},
		"no request":                    {container: "unlimited", resource: "requests.memory", want: "0"},
		"of another container":          {container: "unlimited", containerName: "main", resource: "limits.memory", divisor: "1Mi", want: "100"},
		"of an init container":          {container: "unlimited", containerName: "init", resource: "limits.cpu", want: "4"},
		"huge pages without a value":    {container: "main", resource: "limits.hugepages-2Mi", want: "0"},
		"unknown container is an error": {container: "main", containerName: "none", resource: "limits.cpu"},
		"unknown resource is an error":  {container: "main", resource: "limits.disk"},
		"unknown list is an error":      {container: "main", resource: "max.cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := &corev1.ResourceFieldSelector{ContainerName: tc.containerName, Resource: tc.resource}
			if tc.divisor != "" {
				ref.Divisor = resource.MustParse(tc.divisor)
			}
			got, err := Resource(pod, tc.container, ref, allocatable)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("Resource = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
