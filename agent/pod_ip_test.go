package agent

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodIPs(t *testing.T) {
	for cidr, want := range map[string][]string{
		"10.0.0.8/29":  {"10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14"}, // without the broadcast address 10.0.0.15
		"10.0.0.8/31":  nil,
		"fd00::8/126":  {"fd00::a", "fd00::b"},
		"not a prefix": nil,
	} {
		var a ipAllocator
		var got []string
		for ip := a.allocate(cidr, &corev1.Pod{}); ip != nil; ip = a.allocate(cidr, &corev1.Pod{}) {
			got = append(got, ip...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("range %s: allocated %v, want %v", cidr, got, want)
		}
		if len(want) == 0 {
			continue
		}
		a.release(want[1])
		if ip := a.allocate(cidr, &corev1.Pod{}); !slices.Equal(ip, want[1:2]) {
			t.Errorf("range %s: allocated %v after the release of %s, want it again", cidr, ip, want[1])
		}
	}
}
