//go:build linux

package nodeagent

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/shutdown"
	"github.com/berthproject/berth/internal/config"
)

// kubelet parses the fields of a KubeletConfiguration, given as JSON.
func kubelet(t *testing.T, fields string) *config.Kubelet {
	t.Helper()
	k, err := config.ReadKubelet(config.Document{APIVersion: config.KubeletAPIVersion, Kind: config.KubeletKind, File: "test",
		JSON: []byte(`{"apiVersion":"` + config.KubeletAPIVersion + `","kind":"` + config.KubeletKind + `"` + fields + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	return &k
}

func capacity() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("2Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1000Mi"), corev1.ResourcePods: resource.MustParse("110")}
}

func TestAllocatable(t *testing.T) {
	// As in the kubelet, 10% is a 32-bit float, so the result is one byte less than with exact arithmetic.
	for name, tc := range map[string]struct{ fields, cpu, memory, disk string }{
		"defaults":              {``, "2", "1948Mi", "943718399"},
		"reservations":          {`,"kubeReserved":{"cpu":"200m","memory":"100Mi"},"systemReserved":{"memory":"100Mi"}`, "1800m", "1748Mi", "943718399"},
		"soft thresholds":       {`,"evictionHard":{},"evictionSoft":{"memory.available":"500Mi"},"evictionSoftGracePeriod":{"memory.available":"1m"}`, "2", "2Gi", "1000Mi"},
		"excessive reservation": {`,"systemReserved":{"memory":"3Gi"}`, "2", "0", "943718399"},
	} {
		t.Run(name, func(t *testing.T) {
			a := allocatable(kubelet(t, tc.fields), capacity())
			for r, want := range map[corev1.ResourceName]string{corev1.ResourceCPU: tc.cpu, corev1.ResourceMemory: tc.memory, corev1.ResourceEphemeralStorage: tc.disk, corev1.ResourcePods: "110"} {
				if got := a[r]; got.Cmp(resource.MustParse(want)) != 0 {
					t.Errorf("%s: %s, want %s", r, got.String(), want)
				}
			}
		})
	}
}

func TestPodsLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		fields string
		want   cgroup.Limits
	}{
		"nothing is reserved": {``, cgroup.Limits{CPUShares: 2048}},
		"memory and cpu":      {`,"kubeReserved":{"cpu":"500m","memory":"1Gi"}`, cgroup.Limits{Memory: 1 << 30, CPUShares: 1536}},
		"not enforced":        {`,"enforceNodeAllocatable":["none"],"kubeReserved":{"cpu":"500m","memory":"1Gi"}`, cgroup.Limits{CPUShares: 2048}},
	} {
		if got := podsLimits(kubelet(t, tc.fields), capacity()); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestKubeletConversions(t *testing.T) {
	for fields, want := range map[string][]shutdown.Class{
		``: nil,
		`,"shutdownGracePeriod":"30s","shutdownGracePeriodCriticalPods":"10s"`:                {{Priority: 0, Grace: 20 * time.Second}, {Priority: model.SystemCriticalPriority, Grace: 10 * time.Second}},
		`,"shutdownGracePeriodByPodPriority":[{"priority":5,"shutdownGracePeriodSeconds":7}]`: {{Priority: 5, Grace: 7 * time.Second}},
	} {
		if got := shutdownClasses(kubelet(t, fields).Shutdown); !slices.Equal(got, want) {
			t.Errorf("shutdown classes with %q: %v, want %v", fields, got, want)
		}
	}
	for fields, want := range map[string]int{``: 1, `,"serializeImagePulls":false`: -1, `,"serializeImagePulls":false,"maxParallelImagePulls":3`: 3} {
		if got := parallelPulls(kubelet(t, fields)); got != want {
			t.Errorf("parallel pulls with %q: %d, want %d", fields, got, want)
		}
	}
	if got := maxPods(kubelet(t, `,"maxPods":7`)); got != 7 {
		t.Errorf("maximum number of pods %d, want 7", got)
	}
	if got := pidsLimit(kubelet(t, ``)); got != 0 {
		t.Errorf("processes per pod %d, want 0 for unlimited", got)
	}
}
