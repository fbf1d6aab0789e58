package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cpus(value string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
}

func TestLimitRangeSetsDefaultsAndRejectsViolations(t *testing.T) {
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "ns"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Default: cpus("1"), DefaultRequest: cpus("500m"), Min: cpus("250m"), Max: cpus("2"), MaxLimitRequestRatio: cpus("2")},
		{Type: corev1.LimitTypePod, Max: cpus("3")},
	}}}
	plugin := initialize(t, newLimitRanger(), limits)
	for name, tc := range map[string]struct {
		requests, limits string
		copies           int
		want             string
	}{
		"defaults":              {copies: 1},
		"below the minimum":     {copies: 1, requests: "100m", limits: "200m", want: "minimum cpu usage per Container is 250m, but request is 100m"},
		"above the maximum":     {copies: 1, requests: "2", limits: "3", want: "maximum cpu usage per Container is 2, but limit is 3"},
		"above the ratio":       {copies: 1, requests: "500m", limits: "2", want: "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000"},
		"pod above the maximum": {copies: 2, requests: "2", limits: "2", want: "maximum cpu usage per Pod is 3, but limit is 4"},
	} {
		pod := podOf(nil)
		if tc.requests != "" {
			pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: cpus(tc.requests), Limits: cpus(tc.limits)}
		}
		for range tc.copies - 1 {
			pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
		}
		if got := admit(t, plugin, create(corev1.Resource("pods"), pod)); got != tc.want {
			t.Errorf("%s: got rejection %q, want %q", name, got, tc.want)
		}
		if want := "LimitRanger plugin set: cpu request for container c; cpu limit for container c"; name == "defaults" && pod.Annotations[limitRangerAnnotation] != want {
			t.Errorf("got annotation %q, want %q", pod.Annotations[limitRangerAnnotation], want)
		}
	}
}

func TestQuotaRejectsExcess(t *testing.T) {
	hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), corev1.ResourceRequestsCPU: resource.MustParse("1")}
	used := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0"), corev1.ResourceRequestsCPU: resource.MustParse("0")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
		Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used}}
	for name, tc := range map[string]struct{ namespace, requests, want string }{
		"no request":       {namespace: "ns", want: "failed quota: q: must specify requests.cpu for: c"},
		"above the quota":  {namespace: "ns", requests: "2", want: "exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1"},
		"within the quota": {namespace: "ns", requests: "1"},
		"other namespace":  {namespace: "free"},
	} {
		plugin, err := newQuota(nil)
		if err != nil {
			t.Fatal(err)
		}
		pod := podOf(func(p *corev1.Pod) { p.Namespace = tc.namespace })
		if tc.requests != "" {
			pod.Spec.Containers[0].Resources.Requests = cpus(tc.requests)
		}
		if got := admit(t, initialize(t, plugin, q), create(corev1.Resource("pods"), pod)); got != tc.want {
			t.Errorf("%s: got rejection %q, want %q", name, got, tc.want)
		}
	}
}
