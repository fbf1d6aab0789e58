package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	kjson "sigs.k8s.io/json"

	"github.com/berthproject/berth/engine/nodepressure"
)

// APIVersion and Kind of a kubelet's configuration file.
const (
	KubeletAPIVersion = "kubelet.config.k8s.io/v1beta1"
	KubeletKind       = "KubeletConfiguration"
)

// Kubelet is what a KubeletConfiguration says of a node, with the kubelet's defaults. Fields are
// those that something here acts upon.
type Kubelet struct {
	// Pressure is without Layout, which the node finds out, and without Options.
	Pressure nodepressure.Config

	KubeReserved, SystemReserved             corev1.ResourceList // kept from pods; with pid
	KubeReservedCgroup, SystemReservedCgroup string
	EnforceNodeAllocatable                   []string
	CgroupRoot                               string
	MaxPods, PodsPerCore                     int32 // PodsPerCore 0: no such limit
	PodPidsLimit                             int64 // below 0: none
	CPUCFSQuota                              bool

	Images   ImageCollection
	Logs     ContainerLogs
	Shutdown Shutdown

	RegisterNode       bool
	RegisterWithTaints []corev1.Taint
	NodeStatusReport   time.Duration // how often a status is posted that has not changed
	NodeLeaseDuration  time.Duration
	NodeStatusImages   int32 // how many images the status lists; below 0: all

	ClusterDNS           []string
	ClusterDomain        string
	ResolvConf           string
	AllowedUnsafeSysctls []string
	SeccompDefault       bool

	SerializeImagePulls   bool
	MaxParallelImagePulls int32         // 0: no limit
	MaxRestartDelay       time.Duration // of a container that keeps failing

	RuntimeEndpoint string
	Address         string
	Port            int32

	// Warnings tell what was accepted and has no effect.
	Warnings []string
}

// ImageCollection says when images that nobody uses are deleted.
type ImageCollection struct {
	MinimumAge  time.Duration
	MaximumAge  time.Duration // 0: however old
	HighPercent int32         // of the disk in use, from which on images go
	LowPercent  int32         // down to which they go
}

// ContainerLogs says when a container's log is rotated.
type ContainerLogs struct {
	MaxSize  int64 // bytes
	MaxFiles int32
}

// Shutdown is how long pods have when their node is shut down; zero: no time.
type Shutdown struct {
	Total, Critical time.Duration // Critical, the end of Total, is for critical pods alone
	ByPriority      []ShutdownPriority
}

// ShutdownPriority is how long pods have of at least this priority, by ascending priority.
type ShutdownPriority struct {
	Priority int32
	Grace    time.Duration
}

// DefaultKubelet is a node without a file.
func DefaultKubelet() Kubelet {
	k, err := ReadKubelet(Document{APIVersion: KubeletAPIVersion, Kind: KubeletKind,
		JSON: []byte(`{"apiVersion":"` + KubeletAPIVersion + `","kind":"` + KubeletKind + `"}`)})
	if err != nil {
		return Kubelet{} // cannot be: TestDefaultKubelet
	}
	return k
}

// ReadKubelet decodes a KubeletConfiguration. Fields that Kubernetes does not have and values that
// cannot be are refused with their paths, all at once; fields that nothing here acts upon are
// told in one warning.
func ReadKubelet(d Document) (Kubelet, error) {
	if d.APIVersion != KubeletAPIVersion || d.Kind != KubeletKind {
		return Kubelet{}, fmt.Errorf("%s: %s %s: must be %s %s", d.File, d.APIVersion, d.Kind, KubeletAPIVersion, KubeletKind)
	}
	f := &diagnostics{}
	var c kubeletv1beta1.KubeletConfiguration
	f.decode("", d.JSON, &c)
	k := compileKubelet(f, &c)
	k.Warnings = f.warnings
	if idle := ignoredKubeletFields(d.JSON); len(idle) > 0 {
		k.Warnings = append(k.Warnings, "no effect here: "+strings.Join(idle, ", "))
	}
	for i := range f.errs {
		f.errs[i] = fmt.Errorf("%s: %w", d.File, f.errs[i])
	}
	for i := range k.Warnings {
		k.Warnings[i] = d.File + ": " + k.Warnings[i]
	}
	return k, errors.Join(f.errs...)
}

// supportedKubeletFields are the fields that compileKubelet reads, and those that say what is so anyway.
var supportedKubeletFields = []string{"apiVersion", "kind", "address", "allowedUnsafeSysctls", "cgroupRoot", "clusterDNS", "clusterDomain", "containerLogMaxFiles",
	"containerLogMaxSize", "containerRuntimeEndpoint", "cpuCFSQuota", "crashLoopBackOff", "enforceNodeAllocatable", "evictionHard",
	"evictionMaxPodGracePeriod", "evictionMinimumReclaim", "evictionPressureTransitionPeriod", "evictionSoft", "evictionSoftGracePeriod",
	"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "imageMaximumGCAge", "imageMinimumGCAge", "kernelMemcgNotification", "kubeReserved",
	"kubeReservedCgroup", "localStorageCapacityIsolation", "maxParallelImagePulls", "maxPods", "mergeDefaultEvictionSettings",
	"nodeLeaseDurationSeconds", "nodeStatusMaxImages", "nodeStatusReportFrequency", "podPidsLimit", "podsPerCore", "port", "registerNode",
	"registerWithTaints", "resolvConf", "seccompDefault", "serializeImagePulls", "shutdownGracePeriod", "shutdownGracePeriodByPodPriority",
	"shutdownGracePeriodCriticalPods", "systemReserved", "systemReservedCgroup"}

// ignoredKubeletFields are the fields that are given and that nothing acts upon.
func ignoredKubeletFields(js []byte) []string {
	var given map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(js, &given); err != nil {
		return nil // told by decode
	}
	known := fieldsOf(reflect.TypeFor[kubeletv1beta1.KubeletConfiguration]())
	return slices.DeleteFunc(slices.Sorted(maps.Keys(given)), func(name string) bool {
		return known[name] == nil || slices.Contains(supportedKubeletFields, name)
	})
}
