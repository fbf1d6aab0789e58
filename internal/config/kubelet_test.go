package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/nodepressure"
)

const kubeletHeader = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

func readKubelet(t *testing.T, text string) (Kubelet, error) {
	t.Helper()
	return ReadKubelet(documentsOf(t, kubeletHeader+text)[0])
}

func signals(k Kubelet) (out []string) {
	for _, t := range k.Pressure.Thresholds {
		out = append(out, t.Signal.String())
	}
	return out
}

func TestDefaultKubelet(t *testing.T) {
	k := DefaultKubelet()
	want := []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "allocatableMemory.available"}
	if got := signals(k); !slices.Equal(got, want) {
		t.Errorf("got thresholds for %v, want %v", got, want)
	}
	if k.Pressure.TransitionPeriod != 5*time.Minute || !k.Pressure.LocalStorage || k.MaxPods != 110 || k.Images.HighPercent != 85 || k.PodPidsLimit != -1 || !k.SerializeImagePulls || k.ClusterDomain != "cluster.local" || k.UserNamespaceIDs != 65536 {
		t.Errorf("got defaults %+v, want those of the kubelet", k)
	}
	if k.Warnings != nil {
		t.Errorf("got warnings %q without a file, want none", k.Warnings)
	}
}

func TestKubeletThresholdDefaults(t *testing.T) {
	k, err := readKubelet(t, `evictionHard: {memory.available: 1Gi}`)
	if err != nil || len(k.Pressure.Thresholds) != 2 {
		t.Errorf("got error %v and thresholds for %v, want 2 thresholds", err, signals(k))
	}
	if !strings.Contains(strings.Join(k.Warnings, "\n"), "the default threshold imagefs.available is disabled") {
		t.Errorf("got warnings %q, want one for each disabled default", k.Warnings)
	}
	k, err = readKubelet(t, "evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true")
	if err != nil || len(k.Pressure.Thresholds) != 6 || k.Warnings != nil {
		t.Errorf("merged: got error %v, thresholds for %v and warnings %q, want 6 thresholds and no warnings", err, signals(k), k.Warnings)
	}
	if v := k.Pressure.Thresholds[0].Value.Quantity; v != nodepressure.Bytes(1<<30) {
		t.Errorf("merged: got memory threshold %v, want 1Gi", v)
	}
}

func TestKubeletFields(t *testing.T) {
	k, err := readKubelet(t, `
kubeReserved: {cpu: 200m, memory: 1Gi, pid: "100"}
podPidsLimit: 4096
shutdownGracePeriodByPodPriority: [{priority: 2000000000, shutdownGracePeriodSeconds: 10}, {priority: 0, shutdownGracePeriodSeconds: 30}]
registerWithTaints: [{key: a, value: b, effect: NoSchedule}]
imageMaximumGCAge: 48h
containerLogMaxSize: 5Mi
enforceNodeAllocatable: [none]
evictionPressureTransitionPeriod: 0s
maxParallelImagePulls: 4
authentication: {anonymous: {enabled: false}}
logging: {verbosity: 3, flushFrequency: 5s}
memorySwap: {swapBehavior: NoSwap}
lowDiskSpaceThresholdMB: 512
userNamespaces: {idsPerPod: 131072}
`)
	if err != nil {
		t.Fatal(err)
	}
	if k.KubeReserved.Memory().String() != "1Gi" || k.PodPidsLimit != 4096 || k.RegisterWithTaints[0].Key != "a" || k.Logs.MaxSize != 5<<20 ||
		k.Images.MaximumAge != 48*time.Hour || k.SerializeImagePulls || k.Pressure.TransitionPeriod != 5*time.Minute || *k.LowDiskSpaceThresholdMB != 512 || k.OutOfDiskTransition != 5*time.Minute || k.UserNamespaceIDs != 131072 {
		t.Errorf("got %+v, want the fields of the file", k)
	}
	want := []ShutdownPriority{{0, 30 * time.Second}, {2000000000, 10 * time.Second}}
	if !reflect.DeepEqual(k.Shutdown.ByPriority, want) {
		t.Errorf("got shutdown periods %+v, want %+v", k.Shutdown.ByPriority, want)
	}
	if slices.Contains(signals(k), "allocatableMemory.available") {
		t.Error("got a threshold for allocatable memory, which is not enforced")
	}
	if len(k.Warnings) != 1 || !strings.HasSuffix(k.Warnings[0], "c.yaml: fields without effect: authentication, logging, memorySwap") {
		t.Errorf("got warnings %q, want one about authentication, logging and memorySwap", k.Warnings)
	}
}

func TestOutOfDiskTransition(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"evictionPressureTransitionPeriod: 30s":                                    30 * time.Second,
		"evictionPressureTransitionPeriod: 30s\noutOfDiskTransitionFrequency: 10s": 10 * time.Second,
	} {
		if k, err := readKubelet(t, text); err != nil || k.OutOfDiskTransition != want || len(k.Warnings) > 0 {
			t.Errorf("%s: got %v, error %v, warnings %q, want %v", text, k.OutOfDiskTransition, err, k.Warnings, want)
		}
	}
}

func TestInvalidKubeletFiles(t *testing.T) {
	for text, want := range map[string]string{
		"evictionHard: {memory.available: \"-1\"}":                         `evictionHard.memory.available: "-1": eviction threshold memory.available must be positive: -1`,
		"evictionHard: {memory.available: 1Gb}":                            `evictionHard.memory.available: "1Gb": must be an amount such as 100Mi, or a share such as 5%`,
		"evictionHard: {memory.available: 101%}":                           "must be <= 100%: 101%",
		"evictionHard: {memory.available: -5%}":                            "must be >= 0%: -5%",
		"evictionHard: {memory.available: NaN%}":                           "must be <= 100%: NaN%",
		"evictionHard: {memory.available: many%}":                          `evictionHard.memory.available: "many%": must be an amount such as 100Mi, or a share such as 5%`,
		"evictionHard: {memory.available: NaN, nodefs.available: \"-1\"}":  "nodefs.available must be positive: -1",
		"evictionHard: {a: 1Gi}\nevictionSoft: {memory.available: 1Gi}":    "grace period must be specified",
		"evictionHard: {memory.avaliable: 1Gi}":                            "unsupported eviction signal memory.avaliable; did you mean memory.available?",
		"evictionHard: {memory.available: 5}":                              "evictionHard.memory.available: 5: must be a string",
		"evictionSoft: {memory.available: 1Gi}":                            "evictionSoft.memory.available: \"1Gi\": grace period must be specified",
		"evictionSoftGracePeriod: {memory.available: \"10\"}":              "missing unit in duration",
		"evictionSoftGracePeriod: {memory.available: -1s}":                 "invalid eviction grace period specified: -1s",
		"evictionMinimumReclaim: {memory.available: 0%}":                   "eviction percentage minimum reclaim memory.available must be positive",
		"evictionMinimumReclaim: {memory.available: -1Mi}":                 "negative eviction minimum reclaim specified for memory.available",
		"evictionMinimumReclaim: {memory.available: 200%}":                 "must be <= 100%",
		"evictionPressureTransitionPeriod: -1m":                            "evictionPressureTransitionPeriod: -1m0s: must be 0 or more",
		"evictionPressureTransitionPeriod: soon":                           `evictionPressureTransitionPeriod: "soon": must be a duration`,
		"lowDiskSpaceThresholdMB: -1":                                      "lowDiskSpaceThresholdMB: -1: must be a number of MiB between 0 and 1099511627776",
		"lowDiskSpaceThresholdMB: much":                                    `lowDiskSpaceThresholdMB: "much": must be a whole number`,
		"outOfDiskTransitionFrequency: -1s":                                "outOfDiskTransitionFrequency: -1s: must be 0 or more",
		"evictionhard: {}":                                                 "evictionhard: unknown field; did you mean evictionHard?",
		"kubeReserved: {cpus: 1}":                                          "kubeReserved.cpus",
		"kubeReserved: {cpu: \"-1\"}":                                      "kubeReserved.cpu: -1: must be 0 or more",
		"systemReserved: {memory: much}":                                   `systemReserved.memory: "much": must be a quantity`,
		"imageGCHighThresholdPercent: 101":                                 "imageGCHighThresholdPercent: 101: must be between 0 and 100",
		"imageGCLowThresholdPercent: 85":                                   "imageGCLowThresholdPercent: 85: must be below imageGCHighThresholdPercent, 85",
		"imageMaximumGCAge: 1m":                                            "imageMaximumGCAge: 1m0s: must be 0, or above imageMinimumGCAge, 2m0s",
		"maxPods: -1":                                                      "maxPods: -1: must be at least 0",
		"maxPods: many":                                                    `maxPods: "many": must be a whole number`,
		"podPidsLimit: 0":                                                  "podPidsLimit: 0: must be above 0",
		"containerLogMaxSize: 0":                                           "containerLogMaxSize: 0: must be a string",
		"containerLogMaxSize: -5Mi":                                        `containerLogMaxSize: "-5Mi": must be a quantity above 0`,
		"containerLogMaxFiles: 1":                                          "containerLogMaxFiles: 1: must be at least 2",
		"shutdownGracePeriod: 500ms":                                       "shutdownGracePeriod: 500ms: must be 0, or 1s or more",
		"shutdownGracePeriod: 5s\nshutdownGracePeriodCriticalPods: 6s":     "shutdownGracePeriodCriticalPods: 6s: must be at most shutdownGracePeriod, 5s",
		"shutdownGracePeriodByPodPriority: [{priority: 1}, {priority: 1}]": "shutdownGracePeriodByPodPriority[1].priority: 1: must be given once",
		"enforceNodeAllocatable: [pods, none]":                             "enforceNodeAllocatable[1]: none: must be the only entry",
		"enforceNodeAllocatable: [pod]":                                    `enforceNodeAllocatable[0]: "pod": did you mean pods?`,
		"maxParallelImagePulls: 0":                                         "maxParallelImagePulls: 0: must be 1 or more",
		"evictionHard: {memory.available: \"0\"}\nmaxPods: -1":             "maxPods: -1",
		"registerWithTaints: [{key: a, timeAdded: yesterday}]":             "registerWithTaints[0].timeAdded",
		"crashLoopBackOff: {maxContainerRestartPeriod: 10m}":               "crashLoopBackOff.maxContainerRestartPeriod: 10m0s: must be between 1s and 5m0s",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := readKubelet(t, text)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "c.yaml") {
				t.Errorf("got error %v, want one with c.yaml and %q", err, want)
			}
		})
	}
}
