package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/settings"
)

// loadKubelet reads a KubeletConfiguration with flags.
func loadKubelet(t *testing.T, file string, args ...string) (config.Kubelet, error) {
	t.Helper()
	var f kubeletFlags
	flags := pflag.NewFlagSet("agent", pflag.ContinueOnError)
	f.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		return config.Kubelet{}, err
	}
	fields, err := f.fields()
	if err != nil {
		return config.Kubelet{}, err
	}
	var files []string
	if file != "" {
		path := filepath.Join(t.TempDir(), "kubelet.yaml")
		if err := os.WriteFile(path, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+file), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	s, err := settings.LoadOverridden(files, fields)
	return s.Kubelet, err
}

func findThreshold(k *config.Kubelet, s nodepressure.Signal, hard bool) *nodepressure.Threshold {
	for i := range k.Pressure.Thresholds {
		if t := &k.Pressure.Thresholds[i]; t.Signal == s && t.Hard() == hard {
			return t
		}
	}
	return nil
}

// TestKubeletFlags checks that each flag sets its field.
func TestKubeletFlags(t *testing.T) {
	k, err := loadKubelet(t, "", "--eviction-hard=memory.available<300Mi,nodefs.available<7%", "--eviction-soft=memory.available<500Mi", "--eviction-soft-grace-period=memory.available=1m30s",
		"--eviction-max-pod-grace-period=45", "--eviction-minimum-reclaim=memory.available=10Mi", "--eviction-pressure-transition-period=30s", "--experimental-kernel-memcg-notification",
		"--kube-reserved=cpu=200m,memory=500Mi", "--system-reserved=memory=1Gi", "--enforce-node-allocatable=pods", "--image-gc-high-threshold=70", "--image-gc-low-threshold=60",
		"--minimum-image-ttl-duration=5m", "--max-pods=42", "--register-with-taints=a=b:NoSchedule,c:NoExecute", "--cluster-dns=10.96.0.10,10.96.0.11", "--cluster-domain=example.org")
	if err != nil {
		t.Fatal(err)
	}
	hard, soft, disk := findThreshold(&k, nodepressure.MemoryAvailable, true), findThreshold(&k, nodepressure.MemoryAvailable, false), findThreshold(&k, nodepressure.NodeFsAvailable, true)
	if hard == nil || hard.Value.Of(1<<40).Amount != 300<<20 || hard.MinReclaim == nil || disk == nil || disk.Value.Of(1000).Amount != 70 {
		t.Errorf("got hard thresholds %+v and %+v, want 300Mi of memory and 7%% of nodefs", hard, disk)
	}
	if soft == nil || soft.Value.Of(1<<40).Amount != 500<<20 || soft.Grace != 90*time.Second {
		t.Errorf("got soft threshold %+v, want 500Mi of memory for 90s", soft)
	}
	if p := &k.Pressure; p.MaxPodGrace != 45 || p.TransitionPeriod != 30*time.Second {
		t.Errorf("got grace period %d, transition period %s, want 45 and 30s", p.MaxPodGrace, p.TransitionPeriod)
	}
	if q := k.KubeReserved[corev1.ResourceMemory]; q.String() != "500Mi" || k.SystemReserved.Memory().String() != "1Gi" {
		t.Errorf("got reserved %v and %v, want memory 500Mi and 1Gi", k.KubeReserved, k.SystemReserved)
	}
	if i := k.Images; i.HighPercent != 70 || i.LowPercent != 60 || i.MinimumAge != 5*time.Minute {
		t.Errorf("got image garbage collection %+v, want 70%%, 60%% and 5m", i)
	}
	if k.MaxPods != 42 || len(k.RegisterWithTaints) != 2 || len(k.ClusterDNS) != 2 || k.ClusterDomain != "example.org" || len(k.EnforceNodeAllocatable) != 1 {
		t.Errorf("got kubelet configuration %+v, want 42 pods, 2 taints, 2 DNS servers and domain example.org", k)
	}
}

// TestKubeletFlagsOverrideFile checks that a flag replaces a whole field, and that other fields remain. The error for
// an invalid value names the flag or the field.
func TestKubeletFlagsOverrideFile(t *testing.T) {
	file := "maxPods: 7\npodPidsLimit: 9007199254740993\nevictionHard: {memory.available: 1Gi, nodefs.available: 20%, imagefs.available: 15%}\n"
	k, err := loadKubelet(t, file, "--eviction-hard=memory.available<2Gi")
	if err != nil {
		t.Fatal(err)
	}
	if k.MaxPods != 7 || k.PodPidsLimit != 9007199254740993 || findThreshold(&k, nodepressure.NodeFsAvailable, true) != nil || findThreshold(&k, nodepressure.MemoryAvailable, true).Value.Of(1<<40).Amount != 2<<30 {
		t.Errorf("got kubelet configuration %+v, want evictionHard of the flag and all other fields of the file", k)
	}
	if warnings := strings.Join(k.Warnings, "\n"); strings.Count(warnings, "\n") != 3 || strings.Contains(warnings, "kubelet.yaml") ||
		!strings.Contains(warnings, "flags: evictionHard: the default threshold nodefs.available is disabled") {
		t.Errorf("got warnings %s, want one for each of 4 disabled thresholds, none of which names the file", warnings)
	}
	if k, err = loadKubelet(t, file+"maxOpenFiles: 5\n", "--max-pods=8"); err != nil || len(k.Warnings) != 3 || strings.Count(strings.Join(k.Warnings, "\n"), "kubelet.yaml: ") != 3 {
		t.Errorf("got warnings %q, %v, want 3 that name the file", k.Warnings, err)
	}
	for flag, want := range map[string]string{"--eviction-hard=memory.free<2Gi": "flags: evictionHard.memory.free", "--max-pods=0": "kubelet.yaml: podPidsLimit"} {
		if _, err := loadKubelet(t, "podPidsLimit: many\n", flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", flag, err, want)
		}
	}
	if k, err = loadKubelet(t, file); err != nil || findThreshold(&k, nodepressure.NodeFsAvailable, true) == nil {
		t.Errorf("without flags: got %+v, %v, want the nodefs threshold of the file", k, err)
	}
	for flag, want := range map[string]string{
		"--eviction-hard=memory.available>2Gi":             "must be SIGNAL<VALUE",
		"--eviction-hard=memory.free<2Gi":                  "flags: evictionHard.memory.free",
		"--eviction-soft=memory.available<2Gi":             "flags: evictionSoft.memory.available",
		"--kube-reserved=gpu=1":                            "flags: kubeReserved.gpu: unknown resource",
		"--image-gc-high-threshold=101":                    "flags: imageGCHighThresholdPercent: 101",
		"--register-with-taints=a=b:Never":                 `--register-with-taints "a=b:Never"`,
		"--eviction-pressure-transition-period=-5s":        "evictionPressureTransitionPeriod: -5s",
		"--enforce-node-allocatable=pods,none":             "enforceNodeAllocatable[1]: none",
		"--eviction-minimum-reclaim=memory.available=-1Mi": "evictionMinimumReclaim.memory.available",
	} {
		if _, err := loadKubelet(t, "", flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", flag, err, want)
		}
	}
}

// TestSimulatedKubeletFlags checks the flags that simulated nodes use.
func TestSimulatedKubeletFlags(t *testing.T) {
	k, err := loadKubelet(t, "", "--max-pods=5", "--register-with-taints=a=b:NoSchedule", "--kube-reserved=cpu=500m")
	if err != nil {
		t.Fatal(err)
	}
	n := agent.NewNode("n1", resource.MustParse("2"), resource.MustParse("4Gi"))
	n.Labels = map[string]string{"existing": "1"}
	localnodes.ApplyKubelet([]*corev1.Node{n}, &k, map[string]string{"existing": "2", "added": "3"})
	if n.Labels["existing"] != "1" || n.Labels["added"] != "3" || len(n.Spec.Taints) != 1 || n.Status.Capacity.Pods().Value() != 5 || n.Status.Allocatable.Cpu().MilliValue() != 1500 {
		t.Errorf("got node %+v, want existing=1, added=3, a taint, 5 pods and 1500m of CPU", n)
	}
}

// TestSimulatedAllocatable checks that allocatable is the capacity without reservations and hard eviction thresholds.
func TestSimulatedAllocatable(t *testing.T) {
	for _, tc := range []struct{ file, flags, memory, storage string }{
		{"", "", "", ""},
		{"", "--eviction-soft=memory.available<3Gi --eviction-soft-grace-period=memory.available=1m", "", ""},
		{"", "--eviction-hard=memory.available<3Gi --kube-reserved=memory=1Gi", "12Gi", "100Gi"},
		{"", "--eviction-hard=memory.available<3Gi", "13Gi", "100Gi"},
		{"", "--eviction-hard=nodefs.available<25%", "16Gi", "75Gi"},
		{"evictionHard: {memory.available: 25%, nodefs.available: 20Gi}\n", "", "12Gi", "80Gi"},
		{"", "--kube-reserved=memory=1Gi", "15260Mi", "96636764000"}, // with the default thresholds 100Mi and 10%
	} {
		k, err := loadKubelet(t, tc.file, strings.Fields(tc.flags)...)
		if err != nil {
			t.Fatal(err)
		}
		n := agent.NewNode("n1", resource.MustParse("2"), resource.MustParse("16Gi"))
		n.Status.Capacity[corev1.ResourceEphemeralStorage] = resource.MustParse("100Gi")
		localnodes.ApplyKubelet([]*corev1.Node{n}, &k, nil)
		if tc.memory == "" {
			if n.Status.Allocatable != nil {
				t.Errorf("%s: got allocatable %v, want none, which is the capacity", tc.flags, n.Status.Allocatable)
			}
			continue
		}
		if got := n.Status.Allocatable; got.Memory().Cmp(resource.MustParse(tc.memory)) != 0 || got.StorageEphemeral().Cmp(resource.MustParse(tc.storage)) != 0 {
			t.Errorf("%s%s: got allocatable %v, want memory %s and ephemeral-storage %s", tc.file, tc.flags, got, tc.memory, tc.storage)
		}
	}
}
